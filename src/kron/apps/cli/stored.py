"""Commands that work on a store or a service: schedules, runs, workers and maintenance."""

from __future__ import annotations

import argparse
from typing import Any

from kron.apps.cli import operator_options, remote
from kron.apps.cli.job_options import JOB_COMMANDS
from kron.apps.cli.options import RUN_KEY_HELP, add_at, add_format, add_shared_store, count, days, define


def _why(commands: Any) -> None:
    command = define(
        commands,
        "why",
        "show the outcome of a period and its reason",
        "why billing/invoices --store sqlite:/var/lib/kron.db --at 2026-03-01T03:00:00Z",
        "why billing/invoices --store sqlite:/var/lib/kron.db --run $(kron runs billing/invoices --limit 1 -o name)",
    )
    command.add_argument("identity", metavar="SCHEDULE", help="identity of a schedule")
    add_shared_store(command)
    add_at(command, "run requested at this instant, otherwise the last period up to it")
    command.add_argument("--run", metavar="KEY", default="", dest="run_key", help=RUN_KEY_HELP)
    add_format(command)


def _audit(commands: Any) -> None:
    command = define(
        commands, "audit", "verify that every period has an outcome", "audit --store sqlite:/var/lib/kron.db"
    )
    command.add_argument("identity", nargs="?", metavar="SCHEDULE", help="identity of one schedule (default: all)")
    add_shared_store(command)
    for name, default_bound in (("failed", None), ("lost", 0), ("unknown", 0)):
        default_text = "unlimited" if default_bound is None else default_bound
        help_text = f"exit 1 if more than N runs ended as {name} (default {default_text})"
        command.add_argument(f"--max-{name}", type=days, default=default_bound, metavar="N", help=help_text)
    add_format(command)


def _audit_log(commands: Any) -> None:
    command = define(
        commands, "audit-log", "verify the audit log of a service", "audit-log verify /var/log/kron/audit.jsonl"
    )
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    summary = "verify the hash chain of audit log files"
    verify = verbs.add_parser("verify", help=summary, description=summary.capitalize() + ".")
    verify.add_argument("files", metavar="FILE", nargs="+", help="audit logs of one service, the oldest first")
    verify.add_argument("--after", metavar="HASH", help="hash of the line before the first (default: none)")
    add_format(verify)


def _serve(commands: Any) -> None:
    command = define(
        commands,
        "serve",
        "run the HTTP service, with a worker",
        "serve --store postgresql://localhost/kron --listen 0.0.0.0:8080 --config kron.toml",
    )
    remote.add_settings(command)


def _ui(commands: Any) -> None:
    command = define(
        commands, "ui", "show the dashboard of a store to this machine", "ui --store sqlite:/var/lib/kron.db --open"
    )
    add_shared_store(command)
    command.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:8090",
        help="address of this machine (default 127.0.0.1:8090)",
    )
    command.add_argument("--operator", action="store_true", help="allow actions; otherwise the dashboard is read-only")
    command.add_argument("--open", action="store_true", help="open the dashboard in the browser")


def _operator(commands: Any) -> None:
    summary = "run the Kubernetes operator, or print what a cluster needs"
    command = define(commands, "operator", summary, "operator run", "operator crd")
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    summary = "create the Jobs of KronJobs, and record their outcomes"
    examples = "operator run --store sqlite:/data/kron.db --listen :8080", "operator run --namespaces shop,billing"
    run = verbs.add_parser(
        "run",
        help=summary,
        description=f"C{summary[1:]}.",
        epilog="\n".join(["example:", *(f"  kron {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    operator_options.add_options(run)
    summary = "print the custom resource definition of KronJob as YAML"
    verbs.add_parser("crd", help=summary, description=f"P{summary[1:]}.")


def _schedules(commands: Any) -> None:
    command = define(commands, "schedules", "manage the schedules of a service", "schedules list -o json")
    remote.add_verbs(command)


def _load(commands: Any) -> None:
    command = define(
        commands,
        "load",
        "define the schedules of a JSON Lines file",
        "load schedules.ndjson --store postgresql://kron@db/kron",
    )
    line = '{"identity": "a", "schedule": "*/5 * * * *", "target": "https://…"}'
    command.add_argument("path", metavar="FILE", help=f"lines such as {line}")
    _store(command)
    command.add_argument("--note", default="", help="reason, stored with every revision")


def _worker(commands: Any) -> None:
    command = define(commands, "worker", "run a worker", "worker --store postgresql://kron@db/kron --listen :8080")
    command.add_argument("--store", metavar="URL", help="store URL (default: setting STORE)")
    command.add_argument(
        "--listen", metavar="HOST:PORT", help="address of /metrics, /healthz and /readyz (default: off)"
    )
    command.add_argument("--batch", type=count, help="schedules read in one pass (default 500)")
    command.add_argument("--lookahead", type=count, metavar="SECONDS", help="how far ahead to plan (default 60)")
    command.add_argument("--leader-election", action="store_true", help="elect one active worker; others stand by")
    command.add_argument("--max-clock-skew", type=count, metavar="SECONDS", help="maximum clock skew (default 5)")
    help_text = "days that records of ended runs are kept; 0: permanently (default 90)"
    command.add_argument("--retention-days", type=days, metavar="DAYS", help=help_text)
    command.add_argument("--command-journal", metavar="DIR", help="run host commands; DIR is the journal")
    command.add_argument("--kubernetes", action="store_true", help="create Jobs for kubernetes:NAMESPACE/CRONJOB")
    remote.add_sources(command)


def _migrate(commands: Any) -> None:
    command = define(
        commands, "migrate", "create or update the PostgreSQL tables", "migrate --store postgresql://owner@db/kron"
    )
    _store(command)
    command.add_argument("--dry-run", action="store_true", help="print the SQL that would run, and run nothing")


def _maintain(commands: Any) -> None:
    command = define(
        commands,
        "maintain",
        "create upcoming partitions and remove old records",
        "maintain --store postgresql://kron_owner@db/kron --retention-days 90",
    )
    _store(command)
    command.add_argument("--retention-days", type=count, metavar="DAYS", help="remove records that are older than this")


def _doctor(commands: Any) -> None:
    command = define(
        commands,
        "doctor",
        "diagnose database problems",
        "doctor --store postgresql://db/kron",
    )
    _store(command)
    add_format(command)


def _store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", required=True, metavar="URL", help="store URL, such as sqlite:PATH")


STORE_COMMANDS = (
    *(_why, _audit),
    *JOB_COMMANDS,
    *(_audit_log, _serve, _ui, _schedules, _load, _worker, _migrate, _maintain, _doctor, _operator),
)
