/* What is replaced in Debian's cron, so that a year passes in seconds and no command runs.
 *
 * - The clock: time() starts at CRON_START, and sleep() moves it ahead at once. The process ends at CRON_END. With
 *   CRON_SKIP, it jumps over a month that no line names, by the bits that cron has read, to 6 hours before its end. cron
 *   takes such a jump as a changed clock, and runs nothing for the time between.
 * - The start of a command: do_command() writes the instant and the command instead.
 * - The crontabs: load_database() reads them once, because they do not change. cron looks at its folders each minute.
 * - Minutes and seconds per minute are long (build.py): cron's int overflows in January 2038.
 * - The rights: cron need not run as root.
 * - The log: messages go to the standard error stream.
 *
 * What decides when a line runs is Debian's own: cron.c, entry.c, job.c, database.c, user.c, misc.c and env.c.
 */

#include "cron.h"
#include <stdarg.h>

static time_t now = 0;

static cron_db *loaded = NULL;

void __real_load_database(cron_db *database);

void __wrap_load_database(cron_db *database)
{
	if (loaded == NULL)
		__real_load_database(database);
	loaded = database;
}

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

static int names_month(int month)
{
	user *owner;
	entry *line;

	for (owner = loaded->head; owner != NULL; owner = owner->next)
		for (line = owner->crontab; line != NULL; line = line->next)
			if (bit_test(line->month, month - FIRST_MONTH))
				return 1;
	return 0;
}

static time_t after_skipped_month(time_t instant)
{
	struct tm local = *localtime(&instant), next = {0};
	time_t target;

	if (names_month(local.tm_mon + 1))
		return instant;
	next.tm_year = local.tm_year;
	next.tm_mon = local.tm_mon + 1;
	next.tm_mday = 1;
	next.tm_isdst = -1;
	target = mktime(&next) - 6 * 3600;
	return target > instant + 4 * 3600 ? target : instant;
}

unsigned int sleep(unsigned int seconds)
{
	static time_t end = 0;
	static int skips = 0;

	if (end == 0) {
		end = moment("CRON_END");
		skips = getenv("CRON_SKIP") != NULL;
	}
	now = time(NULL) + seconds;
	if (skips && now % 3600 < 120)
		now = after_skipped_month(now);
	if (now >= end)
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
