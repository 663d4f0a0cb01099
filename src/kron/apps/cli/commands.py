"""The commands and their options. What each does is in the file of its name."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from kron import __version__
from kron.apps.cli.screen import Screen

_DIALECTS = ("posix", "service", "kron", "fuzzy")  # not imported: `--help` need not load the language
_EXAMPLES = """\
examples:
  kron next "0 9 * * MON-FRI @tz(Europe/Paris)"
  kron explain "0 0 * * * @win(after,3h)" --identity prod/db-backup
  kron lint -f /etc/krontab
  kron next -f /etc/krontab backup --format json | kron verify
"""


def parser(prog: str = "kron") -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog if prog in ("kron", "krontab") else "kron",
        description="Cron that can always say when, why and why not.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (
        _lint,
        _explain,
        _next,
        _fmt,
        _verify,
        _why,
        _audit,
        _serve,
        _schedules,
        _load,
        _worker,
        _migrate,
        _maintain,
        _doctor,
        _compile,
        _translate,
        _spread,
        _conformance,
        _completion,
    ):
        add(commands)
    return top


class _Parser(argparse.ArgumentParser):
    """Knows the most common slip of all: a schedule without quotes, whose stars the shell has eaten."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message += '\n  hint: put the schedule in quotes, such as "0 9 * * MON-FRI"'
        super().error(message)


class _Version(argparse.Action):
    """Prints the versions of Kron and of the tz database, which is an input to every decision."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="the versions of Kron and of its tz database")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from kron.apps.cli.tzdata import tz_version

        print(f"kron {__version__} (tz database {tz_version()})")
        parser.exit()


def _lint(commands: Any) -> None:
    command = _command(commands, "lint", "say what is wrong, or rarely meant", "lint -f /etc/krontab")
    _subject(command)
    _at(command, "look for clock changes after this instant")
    command.add_argument("--strict", action="store_true", help="let warnings fail too")


def _explain(commands: Any) -> None:
    command = _command(
        commands,
        "explain",
        "show how the time of one period was chosen",
        'explain "0 10 * * * @tz(Europe/Paris) @win(around,90m)" --identity msgs',
    )
    _subject(command)
    _at(command, "explain the first period after this instant")
    command.add_argument("--period", metavar="ID", help="explain this period, such as 2026-03-01T00:00:00Z")


def _next(commands: Any) -> None:
    command = _command(commands, "next", "show the coming runs", 'next "0 9 * * MON-FRI @tz(Europe/Paris)" -n 10')
    _subject(command)
    _at(command, "show what comes after this instant")
    command.add_argument("-n", "--count", type=_count, default=5, help="how many (1 to 10000; default 5)")


def _fmt(commands: Any) -> None:
    command = _command(commands, "fmt", "write a schedule or a krontab file in its canonical form", "fmt -f krontab")
    _subject(command)
    command.add_argument("--to", choices=("kron", "posix"), default="kron", help="posix: without names and steps")
    command.add_argument("--write", action="store_true", help="rewrite the file in place")
    command.add_argument("--check", action="store_true", help="only say whether it is canonical: exit 1 if not")


def _verify(commands: Any) -> None:
    command = _command(
        commands,
        "verify",
        "compute recorded decisions again and say what differs",
        'next "0 0 * * *" --format json | kron verify',
    )
    command.add_argument("path", nargs="?", metavar="FILE", help="JSON of one decision or many; default: stdin")
    _format(command)


def _compile(commands: Any) -> None:
    command = _command(
        commands,
        "compile",
        "turn the sentences of workflow files into cron lines",
        "compile --repo octo-org/site .github/workflows",
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a workflow file (YAML, Markdown), or a folder")
    command.add_argument("--repo", metavar="OWNER/NAME", help="the repository (default: the git remote origin)")
    command.add_argument("--write", action="store_true", help="write the cron lines into the files")
    command.add_argument("--check", action="store_true", help="only say whether they are right: exit 1 if not")
    _at(command, "show the first run after this instant")
    _format(command)


def _translate(commands: Any) -> None:
    command = _command(
        commands,
        "translate",
        "a sentence as a Kron line with a window, and a cron line as a sentence",
        'translate "daily around 14:00"',
    )
    command.add_argument("text", metavar="SCHEDULE", help="a sentence or a cron line, in quotes")
    command.add_argument("--identity", help="the identifier to compile the sentence for, owner/repo/path")
    _format(command)


def _spread(commands: Any) -> None:
    command = _command(
        commands,
        "spread",
        "show the load of each minute as it stands, and as it would be spread",
        "spread /etc/crontab",
    )
    command.add_argument(
        "paths", nargs="+", metavar="FILE", help="crontab, krontab, workflow files or folders of those"
    )
    command.add_argument("--by", choices=("sentences", "windows"), default="sentences", help="what to spread with")
    command.add_argument("--days", type=_count, default=7, help="how many days to look at (default 7)")
    _at(command, "look at the days after this instant")
    _format(command)


def _conformance(commands: Any) -> None:
    command = _command(commands, "conformance", "run the tests that a document defines", "conformance fuzzy")
    command.add_argument("document", choices=("fuzzy",), help="the Fuzzy Schedule Time Syntax")
    _format(command)


def _why(commands: Any) -> None:
    command = _command(
        commands,
        "why",
        "say what became of a period, and why",
        "why billing/invoices --store sqlite:/var/lib/kron.db --at 2026-03-01T03:00:00Z",
    )
    command.add_argument("identity", metavar="SCHEDULE", help="the identity of a schedule")
    _store(command)
    _at(command, "the last period up to this instant")
    _format(command)


def _audit(commands: Any) -> None:
    command = _command(commands, "audit", "account for every period, or fail", "audit --store sqlite:/var/lib/kron.db")
    command.add_argument("identity", nargs="?", metavar="SCHEDULE", help="the identity of one schedule; default: all")
    _store(command)
    _format(command)


def _serve(commands: Any) -> None:
    from kron.apps.cli import remote

    command = _command(
        commands,
        "serve",
        "serve schedules over HTTP, and run them",
        "serve --store postgresql://localhost/kron --listen 0.0.0.0:8080 --config kron.toml",
    )
    remote.add_settings(command)


def _schedules(commands: Any) -> None:
    from kron.apps.cli import remote

    command = _command(
        commands, "schedules", "list, define, pause and ask about the schedules of a service", "schedules list -o json"
    )
    remote.add_verbs(command)


def _load(commands: Any) -> None:
    command = _command(
        commands,
        "load",
        "define the schedules of a file of JSON lines",
        "load schedules.ndjson --store postgresql://kron@db/kron",
    )
    command.add_argument("path", metavar="FILE", help='lines such as {"identity": "a", "schedule": "*/5 * * * *"}')
    _store(command)
    command.add_argument("--note", default="", help="why; kept with every revision")


def _worker(commands: Any) -> None:
    command = _command(
        commands, "worker", "record and send what falls due, until told to stop", "worker postgresql://kron@db/kron"
    )
    command.add_argument("url", metavar="STORE-URL", help="where the schedules are, such as postgresql://HOST/DATABASE")
    command.add_argument("--batch", type=_count, default=500, help="schedules looked at in one pass (default 500)")
    command.add_argument(
        "--lookahead", type=_count, default=60, help="seconds before its time a schedule may be planned (default 60)"
    )
    command.add_argument("--lead", action="store_true", help="one worker at a time looks, at everything; others wait")
    skew = "seconds that its clock may be from the store's; beyond, it holds and sends nothing (default 5)"
    command.add_argument("--skew", type=_count, default=5, metavar="SECONDS", help=skew)


def _migrate(commands: Any) -> None:
    command = _command(
        commands, "migrate", "make or update the tables in PostgreSQL", "migrate --store postgresql://owner@db/kron"
    )
    _store(command)
    command.add_argument("--dry-run", action="store_true", help="print what would run, and run nothing")


def _maintain(commands: Any) -> None:
    command = _command(
        commands,
        "maintain",
        "make the partitions of the coming weeks in PostgreSQL, and drop old ones",
        "maintain --store postgresql://owner@db/kron --keep 90",
    )
    _store(command)
    command.add_argument("--keep", type=_count, metavar="DAYS", help="drop weeks that ended so many days ago")


def _doctor(commands: Any) -> None:
    command = _command(
        commands,
        "doctor",
        "say what is wrong with a database, and what would do",
        "doctor --store postgresql://db/kron",
    )
    _store(command)
    _format(command)


def _store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", required=True, metavar="URL", help="where the records are, such as sqlite:PATH")


def _completion(commands: Any) -> None:
    command = _command(commands, "completion", "print a script for your shell", "completion bash > ~/.kron-completion")
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def _command(commands: Any, name: str, what: str, example: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"example:\n  kron {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=_runner(name))
    return command


def _runner(name: str) -> Callable[[argparse.Namespace, Screen], int]:
    """Runs the command of that name; its module is loaded only then."""

    def run(args: argparse.Namespace, screen: Screen) -> int:
        return int(import_module(f"kron.apps.cli.{name}").run(args, screen))

    return run


def _subject(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="SCHEDULE", help="a schedule in quotes; with -f, the name of a job")
    command.add_argument("-f", "--file", help="a krontab file")
    command.add_argument("--identity", help="the name that the job runs under; windows are drawn for it")
    command.add_argument("--dialect", choices=_DIALECTS, default="kron", help="how to read SCHEDULE (default kron)")
    command.add_argument("--zone", default="UTC", help="the time zone, where SCHEDULE names none (default UTC)")
    _format(command)


def _format(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "json"), default="text", help="json: for programs")


def _at(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--at", metavar="INSTANT", help=f"{what}, such as 2026-03-01T00:00:00Z (default: now)")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 10_000):
        raise argparse.ArgumentTypeError("a number from 1 to 10000")
    return int(text)
