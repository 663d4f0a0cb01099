"""The commands and their options. What each does is in the file of its name."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from kron import __version__
from kron.apps.cli.options import add_at, add_format, add_subject, count, define
from kron.apps.cli.stored import STORED

_EXAMPLES = """\
examples:
  kron next "0 9 * * MON-FRI @tz(Europe/Paris)"
  kron explain "0 0 * * * @win(after,3h)" --identity prod/db-backup
  kron lint -f /etc/krontab
  kron next -f /etc/krontab backup --format json | kron verify
  kron migrate --store postgresql://owner@db/kron && kron worker postgresql://kron@db/kron
  kron why billing/invoices --store postgresql://kron@db/kron
  kron serve --store postgresql://kron@db/kron
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
    about_texts = (_lint, _explain, _next, _fmt, _verify)
    about_files = (_compile, _translate, _spread, _conformance, _completion)
    for add in (*about_texts, *STORED, *about_files):
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
    command = define(commands, "lint", "say what is wrong, or rarely meant", "lint -f /etc/krontab")
    add_subject(command)
    add_at(command, "look for clock changes after this instant")
    command.add_argument("--strict", action="store_true", help="let warnings fail too")


def _explain(commands: Any) -> None:
    command = define(
        commands,
        "explain",
        "show how the time of one period was chosen",
        'explain "0 10 * * * @tz(Europe/Paris) @win(around,90m)" --identity msgs',
    )
    add_subject(command)
    add_at(command, "explain the first period after this instant")
    command.add_argument("--period", metavar="ID", help="explain this period, such as 2026-03-01T00:00:00Z")


def _next(commands: Any) -> None:
    command = define(commands, "next", "show the coming runs", 'next "0 9 * * MON-FRI @tz(Europe/Paris)" -n 10')
    add_subject(command)
    add_at(command, "show what comes after this instant")
    command.add_argument("-n", "--count", type=count, default=5, help="how many (1 to 10000; default 5)")


def _fmt(commands: Any) -> None:
    command = define(commands, "fmt", "write a schedule or a krontab file in its canonical form", "fmt -f krontab")
    add_subject(command)
    command.add_argument("--to", choices=("kron", "posix"), default="kron", help="posix: without names and steps")
    command.add_argument("--write", action="store_true", help="rewrite the file in place")
    command.add_argument("--check", action="store_true", help="only say whether it is canonical: exit 1 if not")


def _verify(commands: Any) -> None:
    command = define(
        commands,
        "verify",
        "compute recorded decisions again and say what differs",
        'next "0 0 * * *" --format json | kron verify',
    )
    command.add_argument("path", nargs="?", metavar="FILE", help="JSON of one decision or many; default: stdin")
    add_format(command)


def _compile(commands: Any) -> None:
    command = define(
        commands,
        "compile",
        "turn the sentences of workflow files into cron lines",
        "compile --repo octo-org/site .github/workflows",
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a workflow file (YAML, Markdown), or a folder")
    command.add_argument("--repo", metavar="OWNER/NAME", help="the repository (default: the git remote origin)")
    command.add_argument("--write", action="store_true", help="write the cron lines into the files")
    command.add_argument("--check", action="store_true", help="only say whether they are right: exit 1 if not")
    add_at(command, "show the first run after this instant")
    add_format(command)


def _translate(commands: Any) -> None:
    command = define(
        commands,
        "translate",
        "a sentence as a Kron line with a window, and a cron line as a sentence",
        'translate "daily around 14:00"',
    )
    command.add_argument("text", metavar="SCHEDULE", help="a sentence or a cron line, in quotes")
    command.add_argument("--identity", help="the identifier to compile the sentence for, owner/repo/path")
    add_format(command)


def _spread(commands: Any) -> None:
    command = define(
        commands,
        "spread",
        "show the load of each minute as it stands, and as it would be spread",
        "spread /etc/crontab",
    )
    command.add_argument(
        "paths", nargs="+", metavar="FILE", help="crontab, krontab, workflow files or folders of those"
    )
    command.add_argument("--by", choices=("sentences", "windows"), default="sentences", help="what to spread with")
    command.add_argument("--days", type=count, default=7, help="how many days to look at (default 7)")
    add_at(command, "look at the days after this instant")
    add_format(command)


def _conformance(commands: Any) -> None:
    command = define(commands, "conformance", "run the tests that a document defines", "conformance fuzzy")
    command.add_argument("document", choices=("fuzzy",), help="the Fuzzy Schedule Time Syntax")
    add_format(command)


def _completion(commands: Any) -> None:
    command = define(commands, "completion", "print a script for your shell", "completion bash > ~/.kron-completion")
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
