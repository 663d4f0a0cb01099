"""The commands about what is stored: schedules, runs, and who keeps them."""

from __future__ import annotations

import argparse
from typing import Any

from kron.apps.cli import remote
from kron.apps.cli.options import add_at, add_format, count, days, define


def _why(commands: Any) -> None:
    command = define(
        commands,
        "why",
        "say what became of a period, and why",
        "why billing/invoices --store sqlite:/var/lib/kron.db --at 2026-03-01T03:00:00Z",
    )
    command.add_argument("identity", metavar="SCHEDULE", help="the identity of a schedule")
    _store(command)
    add_at(command, "the last period up to this instant")
    add_format(command)


def _audit(commands: Any) -> None:
    command = define(commands, "audit", "account for every period, or fail", "audit --store sqlite:/var/lib/kron.db")
    command.add_argument("identity", nargs="?", metavar="SCHEDULE", help="the identity of one schedule; default: all")
    _store(command)
    for name, bound in (("failed", None), ("lost", 0), ("unknown", 0)):
        told = "unlimited" if bound is None else bound
        what = f"exit 1 if more runs ended as {name} (default {told})"
        command.add_argument(f"--max-{name}", type=days, default=bound, metavar="N", help=what)
    add_format(command)


def _audit_log(commands: Any) -> None:
    command = define(
        commands, "audit-log", "check the audit log of a service", "audit-log verify /var/log/kron/audit.jsonl"
    )
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    what = "check that each line follows from the line before it"
    verify = verbs.add_parser("verify", help=what, description=what.capitalize() + ".")
    verify.add_argument("files", metavar="FILE", nargs="+", help="audit logs of one service, the oldest first")
    verify.add_argument("--after", metavar="HASH", help="hash of the line before the first (default: none)")
    add_format(verify)


def _serve(commands: Any) -> None:
    command = define(
        commands,
        "serve",
        "serve schedules over HTTP, and run them",
        "serve --store postgresql://localhost/kron --listen 0.0.0.0:8080 --config kron.toml",
    )
    remote.add_settings(command)


def _schedules(commands: Any) -> None:
    command = define(
        commands, "schedules", "list, define, pause and ask about the schedules of a service", "schedules list -o json"
    )
    remote.add_verbs(command)


def _load(commands: Any) -> None:
    command = define(
        commands,
        "load",
        "define the schedules of a file of JSON lines",
        "load schedules.ndjson --store postgresql://kron@db/kron",
    )
    command.add_argument("path", metavar="FILE", help='lines such as {"identity": "a", "schedule": "*/5 * * * *"}')
    _store(command)
    command.add_argument("--note", default="", help="why; kept with every revision")


def _worker(commands: Any) -> None:
    command = define(commands, "worker", "run a worker", "worker postgresql://kron@db/kron --listen 0.0.0.0:8080")
    command.add_argument("url", metavar="STORE-URL", nargs="?", help="store URL, such as postgresql://HOST/DATABASE")
    command.add_argument("--store", metavar="URL", help="the same (default: the setting STORE)")
    command.add_argument(
        "--listen", metavar="HOST:PORT", help="address of /metrics, /healthz and /readyz (default: off)"
    )
    command.add_argument("--batch", type=count, help="schedules read in one pass (default 500)")
    command.add_argument("--lookahead", type=count, metavar="SECONDS", help="how far ahead to plan (default 60)")
    command.add_argument("--lead", action="store_true", help="elect one active worker; others stand by")
    command.add_argument("--skew", type=count, metavar="SECONDS", help="maximum clock skew (default 5)")
    kept = "days that records of ended runs are kept; 0: permanently (default 90)"
    command.add_argument("--retention", type=days, metavar="DAYS", help=kept)
    command.add_argument("--commands", metavar="FOLDER", help="run host commands; FOLDER is the journal")
    command.add_argument("--kubernetes", action="store_true", help="create Jobs for kubernetes:NAMESPACE/CRONJOB")
    remote.add_sources(command)


def _migrate(commands: Any) -> None:
    command = define(
        commands, "migrate", "make or update the tables in PostgreSQL", "migrate --store postgresql://owner@db/kron"
    )
    _store(command)
    command.add_argument("--dry-run", action="store_true", help="print what would run, and run nothing")


def _maintain(commands: Any) -> None:
    command = define(
        commands,
        "maintain",
        "make the partitions of the coming weeks, and remove old records",
        "maintain --store postgresql://kron_owner@db/kron --keep 90",
    )
    _store(command)
    command.add_argument("--keep", type=count, metavar="DAYS", help="retention: remove records that are older")


def _doctor(commands: Any) -> None:
    command = define(
        commands,
        "doctor",
        "say what is wrong with a database, and what would do",
        "doctor --store postgresql://db/kron",
    )
    _store(command)
    add_format(command)


def _store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", required=True, metavar="URL", help="where the records are, such as sqlite:PATH")


STORED = (_why, _audit, _audit_log, _serve, _schedules, _load, _worker, _migrate, _maintain, _doctor)
