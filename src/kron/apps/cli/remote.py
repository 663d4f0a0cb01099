"""Options of `kron serve`, and the verbs of `kron schedules` with their options."""

from __future__ import annotations

import argparse
from typing import Any

from kron.apps.cli.options import RUN_KEY_HELP, add_record_format

_VERBS = {
    "list": "list schedules",
    "get": "show a schedule",
    "apply": "define the schedules of a file, or preview the changes",
    "delete": "delete a schedule; its history is kept",
    "pause": "pause a schedule",
    "resume": "resume a schedule",
    "next": "show upcoming runs",
    "why": "show the outcome of a period and its reason",
    "runs": "show recent runs",
    "trigger": "run a schedule now, in addition to its periods",
    "backfill": "run a range of periods again",
    "dead-letters": "list dead letters: runs that could not be launched",
    "redrive": "run the periods of dead letters again",
}


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add the options of `kron serve`."""
    command.add_argument("--store", metavar="URL", help="store URL (default memory:, which is lost on exit)")
    command.add_argument("--listen", metavar="HOST:PORT", help="address of the HTTP API (default 127.0.0.1:8080)")
    command.add_argument("--auth", choices=("jwt", "none"), help="authentication; none is for loopback addresses only")
    command.add_argument("--no-worker", action="store_true", help="serve the API only; workers run elsewhere")
    add_sources(command)


def add_sources(command: argparse.ArgumentParser) -> None:
    """Add the options that every process with settings has."""
    command.add_argument(
        "--limit",
        dest="target_limits",
        action="append",
        metavar="TARGET=LIMIT",
        help="limit of a target, such as hooks.example.com=10,5/s; repeatable",
    )
    command.add_argument("--config", metavar="FILE", help="TOML file with settings; the environment takes precedence")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="any setting, such as TICK_MS=500"
    )
    command.add_argument("--log-format", choices=("auto", "text", "json"), help="auto: text on a terminal, else json")
    command.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="log level (default info)")
    command.add_argument("--check", action="store_true", help="print the effective settings, without secrets, and exit")


def add_verbs(command: argparse.ArgumentParser) -> None:
    """Add the verbs of `kron schedules`."""
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    parsers = {
        name: verbs.add_parser(name, help=summary, description=summary.capitalize() + ".")
        for name, summary in _VERBS.items()
    }
    for name, verb_parser in parsers.items():
        verb_parser.add_argument("--url", help="service URL (default: $KRON_URL, or http://127.0.0.1:8080)")
        verb_parser.add_argument(
            "--token-file", metavar="FILE", help="file with the token (default: $KRON_TOKEN itself)"
        )
        add_record_format(verb_parser)
        if name not in ("list", "apply", "dead-letters", "redrive"):
            verb_parser.add_argument("id", metavar="ID", help="id of the schedule")
    _options(parsers)


def _options(verbs: dict[str, Any]) -> None:
    verbs["list"].add_argument("--prefix", default="", help="only schedules whose ids start with this prefix")
    label_help = "only schedules with this label; several: with all of them"
    verbs["list"].add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help=label_help)
    verbs["list"].add_argument("--paused", action="store_true", default=None, help="only paused schedules")
    verbs["apply"].add_argument("-f", "--file", required=True, help="TOML or JSON file; - for JSON on stdin")
    verbs["apply"].add_argument("--dry-run", action="store_true", help="only show the runs added, moved and lost")
    verbs["apply"].add_argument("--days", type=int, default=30, help="days to compare with --dry-run (default 30)")
    for name in ("delete", "pause", "resume"):
        verbs[name].add_argument("--note", default="", help="reason, stored with the change")
    verbs["pause"].add_argument("--until", metavar="INSTANT", help="end of the pause (default: until resumed)")
    verbs["dead-letters"].add_argument("--prefix", default="", help="only schedules whose ids start with this prefix")
    verbs["dead-letters"].add_argument("-n", "--count", type=int, default=20, help="number of runs (default 20)")
    verbs["redrive"].add_argument(
        "keys", metavar="KEY", nargs="+", help="as printed by `kron schedules dead-letters -o name`"
    )
    verbs["next"].add_argument("-n", "--count", type=int, default=5, help="number of runs (default 5)")
    verbs["runs"].add_argument("-n", "--count", type=int, default=20, help="number of runs (default 20)")
    at_help = "run requested at this instant, otherwise the last period up to it (default: now)"
    verbs["why"].add_argument("--at", metavar="INSTANT", help=at_help)
    verbs["why"].add_argument("--run", metavar="KEY", dest="run_key", help=RUN_KEY_HELP)
    verbs["backfill"].add_argument("--first", required=True, metavar="INSTANT", help="start of the range, included")
    verbs["backfill"].add_argument("--last", required=True, metavar="INSTANT", help="end of the range, included")
    for name in ("backfill", "redrive"):
        policies = ("allow", "skip", "queue")
        verbs[name].add_argument("--overlap", choices=policies, default="queue", help="overlap policy (default queue)")
    for name in ("trigger", "backfill"):
        verbs[name].add_argument("--key", help="idempotency key: a repeated request starts no new run")
