"""Commands of `kubectl kron` and their options."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from kron.apps.cli.cronjob_options import add_cronjob_options
from kron.apps.cli.options import add_at, add_context, add_format, count
from kron.apps.cli.options import define as define_command

PROGRAM = "kubectl kron"
_EXAMPLES = """\
examples:
  kubectl kron get -A
  kubectl kron status -A
  kubectl kron why report -n billing
  kubectl kron plan -f kronjobs.yaml
  kubectl kron pause report -n billing --note "disk is full" --until 2026-12-24T00:00:00Z

The cluster is that of the kubeconfig: its current context, that of --context, or KUBECONFIG.
"""
_define = partial(define_command, program=PROGRAM, package="kron.apps.kubectl.commands")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        PROGRAM,
        description="See what KronJobs did and will do, and ask the operator to pause, resume or run them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_get, _status, _next, _why, _plan, _pause, _resume, _run, _import):
        add(commands)
    return top


def _get(commands: Any) -> None:
    command = _define(commands, "get", "list KronJobs with their last outcomes and next runs", "get", "get -A -o json")
    _namespace(command)
    _all(command)
    add_format(command)


def _status(commands: Any) -> None:
    summary = "show what is wrong with KronJobs; exit 1 if something is"
    command = _define(commands, "status", summary, "status -A", "status report -n billing")
    command.add_argument("name", nargs="?", metavar="NAME", help="name of a KronJob (default: all KronJobs)")
    _namespace(command)
    _all(command)
    add_format(command)


def _next(commands: Any) -> None:
    summary = "show upcoming runs of a KronJob or of all KronJobs"
    command = _define(commands, "next", summary, "next report -n billing", "next -A --count 20")
    command.add_argument("name", nargs="?", metavar="NAME", help="name of a KronJob (default: all KronJobs)")
    _namespace(command)
    _all(command)
    command.add_argument("-c", "--count", type=count, default=5, help="number of runs, 1 to 10000 (default 5)")
    _prefix(command)
    add_at(command, "runs after this instant")
    add_format(command)


def _why(commands: Any) -> None:
    examples = ("why report -n billing", "why report 2026-03-01T03:00:00Z")
    command = _define(commands, "why", "show the outcome of a recent period and its reason", *examples)
    _name(command)
    command.add_argument("period", nargs="?", metavar="PERIOD", help="one of the last 5 periods (default: the last)")
    _namespace(command)
    add_format(command)


def _plan(commands: Any) -> None:
    summary = "show what the KronJobs of a file would change; exit 1 if one is invalid"
    command = _define(commands, "plan", summary, "plan -f kronjobs.yaml", "plan -f kronjobs.yaml --offline")
    file_help = "YAML or JSON file, or - for stdin; repeat it for several"
    command.add_argument("-f", "--file", action="append", required=True, metavar="FILE", help=file_help)
    command.add_argument("--offline", action="store_true", help="do not compare with the cluster")
    _namespace(command)
    _prefix(command)
    add_at(command, "runs after this instant")
    add_format(command)


def _pause(commands: Any) -> None:
    example = 'pause report -n billing --note "disk is full" --until 2026-12-24T00:00:00Z'
    command = _define(commands, "pause", "pause a KronJob: its periods are skipped", example)
    _name(command)
    _namespace(command)
    command.add_argument("--note", default="", help="reason, recorded with the pause")
    command.add_argument("--who", metavar="TEXT", help="who pauses it (default: the user of this host)")
    command.add_argument("--until", metavar="INSTANT", help="end of the pause (default: until resumed)")


def _resume(commands: Any) -> None:
    command = _define(commands, "resume", "resume a KronJob that was paused", "resume report -n billing")
    _name(command)
    _namespace(command)


def _run(commands: Any) -> None:
    command = _define(commands, "run", "run a KronJob now, in addition to its schedule", "run report -n billing")
    _name(command)
    _namespace(command)
    command.add_argument("--request", metavar="ID", help="name of the request: a repeated one starts no new run")


def _import(commands: Any) -> None:
    summary = "write KronJobs from CronJobs, or switch from one to the other, as kron import cronjobs"
    command = _define(commands, "import", summary, "import -A -o kronjobs", "import --switch billing/report")
    add_cronjob_options(command)
    add_at(command, "clock changes and load after this instant")


def _name(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="name of a KronJob")


def _namespace(command: argparse.ArgumentParser) -> None:
    add_context(command)
    command.add_argument("-n", "--namespace", metavar="NS", help="namespace (default: that of the kubeconfig)")


def _all(command: argparse.ArgumentParser) -> None:
    command.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


def _prefix(command: argparse.ArgumentParser) -> None:
    prefix_help = "--identity-prefix of the operator, if a KronJob has no decision in its status yet (default: none)"
    command.add_argument("--identity-prefix", metavar="TEXT", default="", help=prefix_help)
