"""Commands of `krontab` and their options."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any, cast

from kron.apps.cli.options import RUN_KEY_HELP, add_at, add_format, add_record_format, count
from kron.apps.cli.options import define as define_command
from kron.apps.host.place import Place, place_of
from kron.errors import InvalidSetting

# Options that say which daemon and which of its tables are meant, and whether a value follows.
PLACE_OPTIONS = dict.fromkeys(("--user", "--shadow"), False) | dict.fromkeys(
    ("--config", "--state", "--spool", "--socket", "-u"), True
)
LOCAL_OPTIONS = (
    "help",
    "user",
    "shadow",
    "config",
    "state",
    "spool",
    "socket",
)  # not of a request
DEFAULT_RUNS, DEFAULT_OUTPUTS, DEFAULT_DIFFERENCES = 20, 5, 50
_EXAMPLES = """\
short forms:
  krontab -l [TABLE]    krontab list      krontab -e [TABLE]    krontab edit
  krontab -r [TABLE]    krontab remove    krontab FILE          krontab install

examples:
  krontab -e hello
  krontab backup-table --name backup
  krontab status
  krontab why hello:tick --at 2026-03-01T03:00:00Z
  krontab pause tick --note "disk is full" --until 2026-03-02T00:00:00Z
  krontab log -f tick
  krontab shadow-report --log /var/log/syslog

JOB is TABLE:NAME, or only NAME if no other table has that name.
All other commands are those of kron, such as krontab lint, krontab explain and krontab import.
"""
_define = partial(define_command, program="krontab", package="kron.apps.krontab.commands")


def parser(kind: type[argparse.ArgumentParser] = argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = kind(
        "krontab",
        description="Edit the tables of krond, and see what its jobs did and will do.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_list, _edit, _install, _remove, _status, _next, _why, _history, _run, _pause, _resume, _log, _reload):
        add(commands)
    _shadow_report(commands)
    for command in commands.choices.values():
        _add_place(command)
    return top


def read_place(args: argparse.Namespace) -> Place:
    """Return the folder and the state file of the daemon that the command line means.

    A daemon that runs the command for someone else says itself which of its tables are meant.

    Raises:
        InvalidSetting: This system has no users as Linux has them.
    """
    if args.place is not None:
        return cast(Place, args.place)
    if not hasattr(os, "geteuid"):
        hint = "use kron lint, kron next -f FILE and other commands for files, which work everywhere"
        raise InvalidSetting("NEEDS_LINUX", "krontab works on the tables of krond, which needs Linux", hint=hint)
    user = args.user or os.geteuid() != 0
    place = place_of(args.config, args.state, args.spool, args.socket, user=user, shadow=args.shadow)
    return place.of_user(args.owner) if args.owner else place


def words_of(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the words of a command line after its command, without those that say which daemon is meant."""
    (commands,) = (each for each in parser()._actions if isinstance(each, argparse._SubParsersAction))
    options, rest = list[str](), list[str]()
    for action in commands.choices[args.command]._actions:
        value = getattr(args, action.dest, None)
        if action.dest in LOCAL_OPTIONS or value == action.default:
            continue
        if not action.option_strings:
            rest.append(str(value))
        else:
            options.append(action.option_strings[-1] + ("" if action.nargs == 0 else f"={value}"))
    return (*options, *(["--", *rest] if rest else ()))


def _list(commands: Any) -> None:
    command = _define(commands, "list", "list the tables, or print one of them", "-l", "-l hello", "list -o json")
    command.add_argument("table", nargs="?", metavar="TABLE", help="table whose text is printed (default: list all)")
    add_format(command)


def _edit(commands: Any) -> None:
    command = _define(commands, "edit", "edit a table with $VISUAL or $EDITOR, and check it", "-e hello", "edit")
    command.add_argument(
        "table", nargs="?", metavar="TABLE", help="table (default: the only table, or a new one: jobs)"
    )


def _install(commands: Any) -> None:
    examples = ("hello", "draft.txt --name hello", "--name hello - < draft.txt")
    command = _define(commands, "install", "check a krontab file and install it as a table", *examples)
    command.add_argument("file", metavar="FILE", help="krontab file, or - for stdin")
    command.add_argument("--name", metavar="TABLE", help="name of the table (default: the name of the file)")
    replaces_help = "install only if the present table has this digest; none: only if there is no table"
    command.add_argument("--replaces", metavar="SHA256", help=replaces_help)


def _remove(commands: Any) -> None:
    command = _define(commands, "remove", "remove a table; the records of its jobs stay", "-r hello --yes")
    command.add_argument("table", nargs="?", metavar="TABLE", help="table (default: the only table of a user)")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _status(commands: Any) -> None:
    summary = "show whether krond runs and uses all tables; exit 1 if not"
    command = _define(commands, "status", summary, "status", "status -o json")
    command.add_argument("-n", "--count", type=count, default=5, help="number of next runs, 1 to 10000 (default 5)")
    add_format(command)


def _next(commands: Any) -> None:
    command = _define(commands, "next", "show upcoming runs of a job or of all jobs", "next", "next hello:tick -n 10")
    _job(command, required=False)
    add_at(command, "runs after this instant")
    command.add_argument("-n", "--count", type=count, default=5, help="number of runs, 1 to 10000 (default 5)")
    add_format(command, "ics")


def _why(commands: Any) -> None:
    example = "why hello:tick --at 2026-03-01T03:00:00Z"
    command = _define(commands, "why", "show the outcome of a period and its reason", example)
    _job(command)
    add_at(command, "run requested at this instant, otherwise the last period up to it")
    command.add_argument("--run", metavar="KEY", default="", dest="run_key", help=RUN_KEY_HELP)
    add_format(command)


def _history(commands: Any) -> None:
    command = _define(commands, "history", "show the recent runs of a job, newest first", "history tick --limit 3")
    _job(command)
    limit_help = f"maximum number of runs, 1 to 10000 (default {DEFAULT_RUNS})"
    command.add_argument("--limit", type=count, default=DEFAULT_RUNS, metavar="N", help=limit_help)
    add_record_format(command)


def _run(commands: Any) -> None:
    command = _define(commands, "run", "run a job now, in addition to its schedule", "run hello:tick")
    _job(command)
    command.add_argument("--request", metavar="ID", help="idempotency key: a repeated request starts no new run")
    _note(command, "request")
    add_record_format(command)


def _pause(commands: Any) -> None:
    example = 'pause hello:tick --note "disk is full" --until 2026-12-24T00:00:00Z'
    command = _define(commands, "pause", "pause a job; the pause stays when its table changes", example)
    _job(command)
    _note(command)
    command.add_argument("--until", metavar="INSTANT", help="end of the pause (default: until resumed)")
    add_record_format(command)


def _resume(commands: Any) -> None:
    command = _define(commands, "resume", "resume a job", "resume hello:tick")
    _job(command)
    _note(command)
    add_record_format(command)


def _log(commands: Any) -> None:
    command = _define(commands, "log", "print the captured output of the last runs", "log hello:tick", "log -f")
    _job(command, required=False)
    command.add_argument("-f", "--follow", action="store_true", help="print new output until interrupted")
    runs_help = f"number of runs, 1 to 10000 (default {DEFAULT_OUTPUTS})"
    command.add_argument("-n", "--count", type=count, default=DEFAULT_OUTPUTS, help=runs_help)


def _reload(commands: Any) -> None:
    _define(commands, "reload", "make krond read its tables now, and wait until it has", "reload")


def _shadow_report(commands: Any) -> None:
    summary = "compare krond --shadow with the log of cron; exit 1 if they differ"
    examples = ("shadow-report", "shadow-report --since 2026-03-01T00:00:00Z --log /var/log/syslog -o json")
    command = _define(commands, "shadow-report", summary, *examples)
    add_at(command, "runs before this instant")
    command.add_argument(
        "--since", metavar="INSTANT", help="runs from this instant on (default: all that are recorded)"
    )
    log_help = "log file of cron, or journal (default: the log of this host); repeat it for rotated files, oldest first"
    command.add_argument("--log", metavar="FILE", action="append", help=log_help)
    zone_help = "time zone of log lines whose time has none (default: that of this host)"
    command.add_argument("--timezone", metavar="ZONE", help=zone_help)
    count_help = f"number of differences as text, 1 to 10000 (default {DEFAULT_DIFFERENCES})"
    command.add_argument("-n", "--count", type=count, default=DEFAULT_DIFFERENCES, help=count_help)
    add_format(command)


def _job(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    help_text = "TABLE:NAME, or only NAME if it is unique" + ("" if required else " (default: all jobs)")
    command.add_argument("job", nargs=None if required else "?", metavar="JOB", help=help_text)


def _note(command: argparse.ArgumentParser, noun: str = "change") -> None:
    command.add_argument("--note", default="", help=f"reason, stored with the {noun}")


def _add_place(command: argparse.ArgumentParser) -> None:
    """Add the options that say which daemon is meant."""
    command.add_argument("--user", action="store_true", help="the krond of this user (default unless root)")
    command.add_argument("--shadow", action="store_true", help="the krond --shadow, which starts nothing")
    config_help = "folder of the tables (default /etc/krond.d; with --user ~/.config/krond)"
    command.add_argument("--config", metavar="DIR", help=config_help)
    state_help = (
        "SQLite file of the records (default /var/lib/krond/state.db; with --user ~/.local/state/krond/state.db)"
    )
    command.add_argument("--state", metavar="FILE", help=state_help)
    spool_help = "folder of the users' tables (default /var/spool/krond; none with --user or another --config)"
    command.add_argument("--spool", metavar="DIR", help=spool_help)
    socket_help = "ask krond through this socket (default for a user who has no krond: /run/krond/krond.sock)"
    command.add_argument("--socket", metavar="PATH", help=socket_help)
    command.add_argument("-u", dest="owner", metavar="USER", help="the table of this user alone; for root")
    command.set_defaults(place=None, asker="", content=None)


COMMAND_NAMES = frozenset(
    ("list", "edit", "install", "remove", "status", "next", "why", "history", "run", "pause", "resume", "log", "reload")
) | {"shadow-report"}
