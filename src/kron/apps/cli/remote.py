"""The words of `kron serve` and `kron schedules`: their verbs and options."""

from __future__ import annotations

import argparse
from typing import Any

_VERBS = {
    "list": "list the schedules",
    "get": "show one",
    "apply": "define those of a file, or say what that would change",
    "delete": "delete one; its history stays",
    "pause": "let it rest",
    "resume": "let it go on",
    "next": "show the coming runs",
    "why": "say what became of a period, and why",
    "runs": "show the last runs",
    "trigger": "run it now, beside its calendar",
    "backfill": "run a range of periods again",
    "dead": "list the runs that could not be started",
    "redrive": "run the periods of such runs once more",
}


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add the options of `kron serve`."""
    command.add_argument("--store", metavar="URL", help="store URL (default memory:, which keeps nothing)")
    command.add_argument("--listen", metavar="HOST:PORT", help="address of the HTTP API (default 127.0.0.1:8080)")
    command.add_argument("--auth", choices=("jwt", "none"), help="none: no tokens, on a loopback address only")
    command.add_argument("--no-worker", action="store_true", help="serve the API only; workers run elsewhere")
    add_sources(command)


def add_sources(command: argparse.ArgumentParser) -> None:
    """Add the options that every process with settings has."""
    command.add_argument("--config", metavar="FILE", help="settings as TOML; the environment wins over it")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="any setting, such as TICK_MS=500"
    )
    command.add_argument("--log-format", choices=("auto", "text", "json"), help="auto: text on a terminal, else JSON")
    command.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="default info")
    command.add_argument("--check", action="store_true", help="print the effective settings, without secrets, and exit")


def add_verbs(command: argparse.ArgumentParser) -> None:
    """Add the verbs of `kron schedules`."""
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    made = {
        name: verbs.add_parser(name, help=what, description=what.capitalize() + ".") for name, what in _VERBS.items()
    }
    for name, verb in made.items():
        verb.add_argument("--url", help="the service (default: $KRON_URL, or http://127.0.0.1:8080)")
        verb.add_argument("--token-file", metavar="FILE", help="a file with the token (default: $KRON_TOKEN itself)")
        verb.add_argument("-o", "--output", choices=("table", "json", "name"), default="table")
        if name not in ("list", "apply", "dead", "redrive"):
            verb.add_argument("id", metavar="ID")
    _options(made)


def _options(verbs: dict[str, Any]) -> None:
    verbs["list"].add_argument("--prefix", default="", help="only those whose ids begin so")
    verbs["list"].add_argument("--paused", action="store_true", default=None, help="only those that rest")
    verbs["apply"].add_argument("-f", "--file", required=True, help="TOML or JSON; - for JSON on stdin")
    verbs["apply"].add_argument("--dry-run", action="store_true", help="only show the runs gained, moved and lost")
    verbs["apply"].add_argument("--days", type=int, default=30, help="how far to look with --dry-run (default 30)")
    for name in ("delete", "pause", "resume"):
        verbs[name].add_argument("--note", default="", help="why; kept with it")
    verbs["pause"].add_argument("--until", metavar="INSTANT", help="when it goes on by itself")
    verbs["dead"].add_argument("--prefix", default="", help="only of schedules whose ids begin so")
    verbs["dead"].add_argument("-n", "--count", type=int, default=20)
    verbs["redrive"].add_argument("keys", metavar="KEY", nargs="+", help="as `kron schedules dead -o name` prints them")
    verbs["next"].add_argument("-n", "--count", type=int, default=5)
    verbs["runs"].add_argument("-n", "--count", type=int, default=20)
    verbs["why"].add_argument("--at", metavar="INSTANT", help="the last period up to this instant (default: now)")
    verbs["backfill"].add_argument("--first", required=True, metavar="INSTANT")
    verbs["backfill"].add_argument("--last", required=True, metavar="INSTANT")
    for name in ("backfill", "redrive"):
        rules = ("allow", "skip", "queue")
        verbs[name].add_argument("--overlap", choices=rules, default="queue", help="overlap policy (default queue)")
    for name in ("trigger", "backfill"):
        verbs[name].add_argument("--key", help="the same key is the same run")
