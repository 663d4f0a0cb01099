"""Metrics of the operator, in the text format of Prometheus. Those of the worker are separate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kron.apps.operator.cluster import Cluster
from kron.kube.throttle import Throttle

HELP_TEXTS = {
    "kron_operator_kronjobs": ("gauge", "KronJobs in the watched namespaces."),
    "kron_operator_jobs_followed": ("gauge", "Jobs of KronJobs that the operator watches."),
    "kron_operator_synced": ("gauge", "Whether all KronJobs and Jobs have been listed (1) or not (0)."),
    "kron_operator_api_wait_seconds_total": ("counter", "Time for which requests waited for their turn."),
    "kron_operator_api_rate": ("gauge", "Requests per second that the operator allows itself now."),
    "kron_operator_queue_depth": ("gauge", "Requests and KronJobs that wait."),
    "kron_operator_watch_breaks_total": ("counter", "Lists and watches that failed."),
    "kron_operator_relists_total": ("counter", "Complete lists."),
    "kron_operator_adopted_total": ("counter", "Jobs whose creation or existence was not recorded, and was found."),
    "kron_operator_status_writes_total": ("counter", "Statuses of KronJobs that were written."),
    "kron_operator_clock_skew_seconds": ("gauge", "How far the store's clock is ahead of the API server's."),
}
REQUESTS = "kron_operator_api_requests_total"


class OperatorCounts(NamedTuple):
    """Counts that other parts of the operator keep."""

    adopted: Callable[[], int]
    status_writes: Callable[[], int]
    waiting: Callable[[], int]  # KronJobs
    clock_skew: Callable[[], float]  # seconds


def operator_metrics(cluster: Cluster, throttle: Throttle, counts: OperatorCounts) -> str:
    """Return the metrics as text."""
    mirrors = cluster.mirrors
    values = {
        "kron_operator_kronjobs": sum(len(mirror.entries) for mirror in cluster.kronjob_mirrors.values()),
        "kron_operator_jobs_followed": sum(len(mirror.entries) for mirror in cluster.job_mirrors.values()),
        "kron_operator_synced": int(all(mirror.synced.is_set() for mirror in mirrors)),
        "kron_operator_api_wait_seconds_total": round(throttle.waited, 3),
        "kron_operator_api_rate": throttle.rate,
        "kron_operator_queue_depth": throttle.depth + counts.waiting(),
        "kron_operator_watch_breaks_total": sum(mirror.breaks for mirror in mirrors),
        "kron_operator_relists_total": sum(mirror.lists for mirror in mirrors),
        "kron_operator_adopted_total": counts.adopted(),
        "kron_operator_status_writes_total": counts.status_writes(),
        "kron_operator_clock_skew_seconds": round(counts.clock_skew(), 3),
    }
    return "\n".join([*_lines(values), *_request_lines(throttle)]) + "\n"


def _lines(values: dict[str, float]) -> Iterator[str]:
    for name, value in values.items():
        kind, text = HELP_TEXTS[name]
        yield from (f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value}")


def _request_lines(throttle: Throttle) -> Iterator[str]:
    yield from (f"# HELP {REQUESTS} Requests by verb and status; 0: no answer.", f"# TYPE {REQUESTS} counter")
    for (verb, status), count in sorted(throttle.requests.items()):
        yield f'{REQUESTS}{{verb="{verb.lower()}",code="{status}"}} {count}'
