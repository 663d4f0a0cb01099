"""Options of the daemon: its command line."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

from kron.apps.host.place import Place, place_of
from kron.errors import InvalidSetting, UsageError
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.timing.schedule.policy import SECOND

SENDMAIL = "/usr/sbin/sendmail"
EPILOG = """\
signals:
  HUP         read the tables now (krond also notices changes by itself)
  TERM, INT   start nothing more and exit; running commands go on
  USR1        write the state to the log

example:
  krond
  krond --config /etc/krond.d --state /var/lib/krond/state.db --log json
  krond --user --wait 30s
  krond --spool /var/spool/krond --socket /run/krond/krond.sock
  krond --config /etc/krond.d --dry-run
  krond --config /etc/krond.d --shadow
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a daemon. `wait` is in seconds."""

    place: Place
    once: bool = False
    dry_run: bool = False
    wait: float = 0.0
    log: str = "logfmt"
    sendmail: str = SENDMAIL


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command = argparse.ArgumentParser(
        "krond",
        description="Run the commands of krontab files, and record the outcome of every period.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--config", metavar="DIR", help="folder of the tables (default /etc/krond.d; with --user ~/.config/krond)")
    state_help = (
        "SQLite file of the records (default /var/lib/krond/state.db; with --user ~/.local/state/krond/state.db)"
    )
    add("--state", metavar="FILE", help=state_help)
    add("--user", action="store_true", help="run the tables of this user, without root")
    spool_help = "folder of the users' tables (default /var/spool/krond; none with --user or another --config)"
    add("--spool", metavar="DIR", help=spool_help)
    socket_help = (
        "control socket (default /run/krond/krond.sock; with --user $XDG_RUNTIME_DIR/krond.sock; "
        "with another --state in its folder)"
    )
    add("--socket", metavar="PATH", help=socket_help)
    shadow_help = "start nothing, and record when each run would have started; the state is in the folder shadow"
    add("--shadow", action="store_true", help=shadow_help)
    mode = command.add_mutually_exclusive_group()
    mode.add_argument("--once", action="store_true", help="start what is due now, and exit")
    mode.add_argument(
        "--dry-run", action="store_true", help="check the tables, show the next run of each job, and exit"
    )
    add(
        "--wait", metavar="DURATION", default="0s", help="how long to wait for running commands at the end (default 0s)"
    )
    add("--log", choices=("logfmt", "json"), default="logfmt", help="format of the log on stderr (default logfmt)")
    add("--sendmail", metavar="PATH", default=SENDMAIL, help=f"program that sends mail (default {SENDMAIL})")
    return command


def read_options(args: argparse.Namespace) -> Options:
    """Return the options of a command line.

    Raises:
        UsageError: An option has an invalid value.
        InvalidSetting: The daemon of a host needs root.
    """
    try:
        wait = read_duration(args.wait) / SECOND
    except Fault as fault:
        raise UsageError("USAGE", f"--wait: {fault.message}", hint="use a duration such as 30s") from None
    if not args.user and not args.dry_run and os.geteuid() != 0:
        message = "krond needs root to run the tables of the host"
        raise InvalidSetting("NEEDS_ROOT", message, hint="run krond --user for the tables of one user")
    if args.user and args.spool:
        raise UsageError("USAGE", "--spool and --user exclude each other", hint="run krond --spool as root")
    return Options(
        place_of(args.config, args.state, args.spool, args.socket, user=args.user, shadow=args.shadow),
        once=args.once,
        dry_run=args.dry_run,
        wait=wait,
        log=args.log,
        sendmail=args.sendmail,
    )
