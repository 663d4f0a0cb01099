"""Options of `kron operator run`. Their values are checked when the operator starts."""

from __future__ import annotations

import argparse

DEFAULT_STORE = "sqlite:/var/lib/kron/operator.db"
EVENT_LEVELS = ("changes", "all", "none")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the operator to a command."""
    add = command.add_argument
    store_help = f"store URL: SQLite for one replica, PostgreSQL for several (default {DEFAULT_STORE})"
    add("--store", metavar="URL", default=DEFAULT_STORE, help=store_help)
    add("--namespaces", metavar="NAMES", default="", help="namespaces, separated by commas (default: all)")
    prefix_help = "beginning of all identities, such as east/, where clusters share a store (default: none)"
    add("--identity-prefix", metavar="TEXT", default="", help=prefix_help)
    deadline_help = "deadline of KronJobs that name none (default 0s: a run that is late is missed)"
    add("--default-deadline", metavar="DURATION", default="0s", help=deadline_help)
    add("--qps", metavar="NUMBER", type=float, default=200.0, help="requests per second (default 200)")
    add("--burst", metavar="NUMBER", type=int, default=400, help="requests at once after a pause (default 400)")
    add("--listen", metavar="HOST:PORT", help="address of /metrics, /livez and /readyz (default: off)")
    per_job_help = "add metrics of each KronJob to /metrics: some series for each of them (default: off)"
    add("--metrics-per-job", action="store_true", help=per_job_help)
    events_help = "Kubernetes events: of what is not as usual, of every Job, or none (default changes)"
    add("--events", choices=EVENT_LEVELS, default="changes", help=events_help)
    days_help = "days that records of ended runs are kept; 0: permanently (default 90)"
    add("--retention-days", metavar="DAYS", type=int, default=90, help=days_help)
    stuck_help = "time after which a Job without a ready pod is reported as stuck; 0: never (default 6h)"
    add("--stuck-after", metavar="DURATION", default="6h", help=stuck_help)
    dry_help = "record when each Job would be created, and write nothing to the cluster"
    add("--dry-run", action="store_true", help=dry_help)
    add("--log", choices=("auto", "text", "json", "logfmt"), default="auto", help="format of the log (default auto)")
