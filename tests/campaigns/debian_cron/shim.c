/* What is replaced in Debian's cron, so that a year passes in seconds and no command runs.
 *
 * - The clock: time() starts at CRON_START, and sleep() moves it ahead at once. The process ends at CRON_END.
 * - The start of a command: do_command() writes the instant and the command instead.
 * - The rights: cron need not run as root.
 * - The log: messages go to the standard error stream.
 *
 * What decides when a line runs is Debian's own: cron.c, entry.c, job.c, database.c, user.c, misc.c and env.c.
 */

#include "cron.h"
#include <stdarg.h>

static time_t now = 0;

static time_t moment(const char *name)
{
	const char *text = getenv(name);

	if (text == NULL) {
		fprintf(stderr, "%s is not set\n", name);
		exit(2);
	}
	return (time_t) atoll(text);
}

time_t time(time_t *result)
{
	if (now == 0)
		now = moment("CRON_START");
	if (result != NULL)
		*result = now;
	return now;
}

unsigned int sleep(unsigned int seconds)
{
	now = time(NULL) + seconds;
	if (now >= moment("CRON_END"))
		exit(fflush(stdout) == 0 ? 0 : 2);
	return 0;
}

void do_command(entry *e, user *u)
{
	printf("%lld %s\n", (long long) time(NULL), e->cmd);
}

int seteuid(uid_t uid)
{
	return 0;
}

void syslog(int priority, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}
