"""Commands and their options. Each command is implemented in the module of its name."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from kron._version import __version__
from kron.apps.cli.cronjob_options import add_cronjob_options
from kron.apps.cli.options import add_at, add_dialect, add_format, add_subject, count, define, identity, years
from kron.apps.cli.stored import STORE_COMMANDS
from kron.errors import nearest

_EXAMPLES = """\
examples:
  kron next "0 9 * * MON-FRI @tz(Europe/Paris)"
  kron explain "0 0 * * * @win(after,3h)" --identity prod/db-backup
  kron lint -f /etc/krontab
  kron next -f /etc/krontab backup --output json | kron verify
  kron migrate --store postgresql://owner@db/kron && kron worker --store postgresql://kron@db/kron
  kron why billing/invoices --store postgresql://kron@db/kron
  kron jobs --store sqlite:jobs.db && kron trigger report --store sqlite:jobs.db
  kron serve --store postgresql://kron@db/kron
"""


def parser(prog: str = "kron") -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = _Parser(
        prog if prog in ("kron", "krontab") else "kron",
        description="Schedule jobs, and explain when and why each of them ran or did not run.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    text_commands = (_lint, _explain, _next, _fmt, _verify)
    file_commands = (_import, _import_cronjobs, _compile, _translate, _spread, _tzdiff, _conformance, _completion)
    for add in (*text_commands, *STORE_COMMANDS, *file_commands):
        add(commands)
    return top


_IMPORT_CRONJOBS = "import cronjobs"
_KEY = re.compile(r"[0-9a-f]{64}")
_OTHER_NAMES = {"--zone": "--timezone", "--tz": "--timezone", "--format": "--output", "--json": "--output json"}


class _Parser(argparse.ArgumentParser):
    """Parser with a hint for the most common mistakes.

    They are an option of another name, and a schedule without quotes, whose asterisks the shell expanded.
    """

    given: Sequence[str] = ()  # words of the command line

    def parse_args(self, *args: Any, **named: Any) -> Any:
        """Parse the words. They are kept, because a hint names the options of the command among them."""
        words = args[0] if args and args[0] is not None else sys.argv[1:]
        is_pair = " ".join(words[:2]) == _IMPORT_CRONJOBS  # two words that are the name of one command
        self.given = [_IMPORT_CRONJOBS, *words[2:]] if is_pair else words
        return super().parse_args(self.given, *args[1:], **named)

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            unknown = message.partition(": ")[2].split()[0].partition("=")[0]
            options = [*_options(self, self.given)]
            hint = 'put the schedule in quotes, such as "0 9 * * MON-FRI"'
            if _KEY.fullmatch(unknown) and "--run" in options:
                hint = "give the key of a run as --run KEY"
            elif unknown.startswith("-"):
                known = _OTHER_NAMES.get(unknown, "")
                close = known if known.partition(" ")[0] in options else nearest(unknown, options)
                hint = f"did you mean {close}?" if close else "run the command with --help for its options"
            message += f"\n  hint: {hint}"
        super().error(message)


def _options(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[str]:
    """Yield the options of a parser, and of the command and the verb among the words."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            name = next((word for word in words if word in action.choices), None)
            if name is not None:
                yield from _options(action.choices[name], words)


class _Version(argparse.Action):
    """Option that prints the versions of Kron and of the tz database, which is an input of every decision."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the versions of Kron and of its tz database")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from kron.timing.tzdata import host_version

        print(f"kron {__version__} (tz database {host_version()})")
        parser.exit()


def _lint(commands: Any) -> None:
    command = define(commands, "lint", "check schedules for errors and likely mistakes", "lint -f /etc/krontab")
    add_subject(command)
    add_at(command, "check for clock changes after this instant")
    command.add_argument("--strict", action="store_true", help="exit 1 on warnings too")


def _explain(commands: Any) -> None:
    command = define(
        commands,
        "explain",
        "explain how a period's run time was chosen",
        'explain "0 10 * * * @tz(Europe/Paris) @win(around,90m)" --identity msgs',
    )
    add_subject(command)
    add_at(command, "first period after this instant")
    command.add_argument("--period", metavar="ID", help="this period, such as 2026-03-01T00:00:00Z")


def _next(commands: Any) -> None:
    command = define(commands, "next", "show upcoming runs", 'next "0 9 * * MON-FRI @tz(Europe/Paris)" -n 10')
    add_subject(command, "ics")
    add_at(command, "runs after this instant")
    command.add_argument("-n", "--count", type=count, default=5, help="number of runs, 1 to 10000 (default 5)")


def _fmt(commands: Any) -> None:
    command = define(commands, "fmt", "format a schedule or a krontab file", "fmt -f krontab")
    add_subject(command)
    command.add_argument(
        "--to", choices=("kron", "posix", "quartz", "aws", "rrule"), default="kron", help="form to print (default kron)"
    )
    command.add_argument("--write", action="store_true", help="rewrite the file in place")
    command.add_argument("--check", action="store_true", help="change nothing; exit 1 if the form is not canonical")


def _verify(commands: Any) -> None:
    command = define(
        commands,
        "verify",
        "recompute recorded decisions and show differences",
        'next "0 0 * * *" --output json | kron verify',
    )
    command.add_argument("path", nargs="?", metavar="FILE", help="JSON file with decisions (default: stdin)")
    add_format(command)


def _import(commands: Any) -> None:
    command = define(
        commands,
        "import",
        "write a krontab file from crontabs; change nothing else",
        "import /etc/crontab /etc/cron.d > krontab",
        "import --user alice /var/spool/cron/crontabs/alice",
        "import --user alice --write krontab - < crontab",
    )
    source_help = "crontab with a user column, folder such as /etc/cron.d, or - for stdin"
    command.add_argument("sources", nargs="+", metavar="SOURCE", help=source_help)
    command.add_argument("--user", metavar="NAME", help="user of crontabs that have no user column")
    command.add_argument("--system", action="store_true", help="stdin has a user column")
    command.add_argument("--timezone", metavar="ZONE", help="time zone of cron (default: that of /etc/localtime)")
    command.add_argument("--write", metavar="FILE", help="write the krontab to this new file (default: stdout)")
    keep_help = "write invalid lines as comments, and exit 0 (default: write nothing, and exit 1)"
    command.add_argument("--keep-going", action="store_true", help=keep_help)
    add_at(command, "clock changes and load after this instant")
    add_format(command)


def _import_cronjobs(commands: Any) -> None:
    command = define(
        commands,
        _IMPORT_CRONJOBS,
        "write KronJobs from Kubernetes CronJobs, or switch from one to the other",
        "import cronjobs -f cronjobs.yaml",
        "import cronjobs -A --cluster-zone Europe/Paris --by windows -o kronjobs",
        "import cronjobs --switch billing/report",
    )
    add_cronjob_options(command)
    add_at(command, "clock changes and load after this instant")


def _compile(commands: Any) -> None:
    command = define(
        commands,
        "compile",
        "compile the sentences of workflow files to cron lines",
        "compile --repo octo-org/site .github/workflows",
    )
    path_help = "workflow file (YAML, Markdown), or a folder of them; or a placeholder such as 'FUZZY:DAILY * * *'"
    command.add_argument("paths", nargs="+", metavar="PATH", help=path_help)
    command.add_argument("--identity", type=identity, help="identifier to compile a placeholder for: owner/repo/path")
    command.add_argument("--repo", metavar="OWNER/NAME", help="repository (default: that of the git remote origin)")
    command.add_argument("--write", action="store_true", help="write the cron lines into the files")
    command.add_argument("--check", action="store_true", help="change nothing; exit 1 if a cron line is wrong")
    add_at(command, "first run after this instant")
    add_format(command)


def _translate(commands: Any) -> None:
    command = define(
        commands,
        "translate",
        "translate between a sentence and a cron line",
        'translate "daily around 14:00"',
    )
    command.add_argument("text", metavar="SCHEDULE", help="sentence or cron line, in quotes")
    command.add_argument("--identity", type=identity, help="identifier to compile the sentence for: owner/repo/path")
    add_format(command)


def _spread(commands: Any) -> None:
    command = define(
        commands,
        "spread",
        "show the load per minute, current and spread",
        "spread /etc/crontab",
    )
    command.add_argument(
        "paths", nargs="+", metavar="FILE", help="crontab, krontab, workflow files or folders of those"
    )
    command.add_argument("--by", choices=("sentences", "windows"), default="sentences", help="default sentences")
    command.add_argument("--days", type=count, default=7, help="number of days (default 7)")
    add_dialect(command, "read each line of a plain file as one schedule (default: as a crontab line)")
    add_at(command, "days after this instant")
    add_format(command)


def _tzdiff(commands: Any) -> None:
    command = define(
        commands,
        "tzdiff",
        "compare two tz databases, and the runs of krontab files in them; exit 2 if they differ",
        "tzdiff system wheel",
        "tzdiff system tzdata-2026.6-py2.py3-none-any.whl /etc/krontab --years 5",
    )
    source = "folder, wheel file, system or wheel (the installed tzdata package)"
    command.add_argument("old", metavar="OLD", help=f"tz database: {source}")
    command.add_argument("new", metavar="NEW", help="tz database to compare with OLD")
    command.add_argument("paths", nargs="*", metavar="FILE", help="krontab file")
    command.add_argument("--years", type=years, default=2, help="number of years, 1 to 100 (default 2)")
    add_at(command, "compare from this instant")
    add_format(command)


def _conformance(commands: Any) -> None:
    command = define(commands, "conformance", "run the conformance tests of a specification", "conformance fuzzy")
    command.add_argument("document", choices=("fuzzy",), help="specification: Fuzzy Schedule Time Syntax")
    add_format(command)


def _completion(commands: Any) -> None:
    command = define(commands, "completion", "print a completion script", "completion bash > ~/.kron-completion")
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="shell that reads the script")
