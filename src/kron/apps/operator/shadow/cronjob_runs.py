"""Runs of a CronJob, as far as the cluster still has them: its Jobs, and the time of the last one.

The CronJob controller deletes old Jobs, by limits for each kind of end. So only the time from which on all Jobs are
there can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kron.kube.kind import CRONJOB, Body, seconds_of
from kron.kube.names import SCHEDULED

_LIMITS = {"Complete": ("successfulJobsHistoryLimit", 3), "Failed": ("failedJobsHistoryLimit", 1)}
_MINUTE = 60


class CronJobRuns(NamedTuple):
    """Runs of a CronJob. Times are in seconds.

    Attributes:
        began: From this time on, all its runs are known.
        runs: For each period, when its Job was created; None if only the CronJob's status tells about it.
    """

    began: int
    runs: dict[int, int | None]


def runs_of(cronjob: Body, jobs: Iterable[Body]) -> CronJobRuns:
    """Return the runs of a CronJob.

    Args:
        cronjob: The CronJob.
        jobs: Jobs of its namespace.
    """
    metadata, spec = cronjob["metadata"], cronjob.get("spec") or {}
    own = [job for job in jobs if _is_of(job, str(metadata.get("uid")))]
    runs: dict[int, int | None] = {
        period: seconds_of(job["metadata"].get("creationTimestamp")) for job in own if (period := period_of(job))
    }
    last = seconds_of((cronjob.get("status") or {}).get("lastScheduleTime"))
    began = seconds_of(metadata.get("creationTimestamp")) or 0
    for end, (field, default) in _LIMITS.items():
        ended = sorted(period for job in own if _end_of(job) == end and (period := period_of(job)))
        limit = spec.get(field)
        limit = default if limit is None else int(limit)
        if limit and len(ended) >= limit:
            began = max(began, ended[0])
        elif not limit:
            began = max(began, last or 0)  # its Jobs are deleted at once
    if last is not None and last not in runs:
        runs[last] = None
    return CronJobRuns(began, runs)


def period_of(job: Body) -> int:
    """Return the period of a Job of a CronJob: by its annotation, else by its name, which ends with minutes."""
    metadata = job["metadata"]
    scheduled = seconds_of((metadata.get("annotations") or {}).get(SCHEDULED))
    if scheduled is not None:
        return scheduled
    minutes = str(metadata.get("name") or "").rpartition("-")[2]
    return int(minutes) * _MINUTE if minutes.isascii() and minutes.isdigit() else 0


def _is_of(job: Body, uid: str) -> bool:
    owners = job["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == CRONJOB.name and owner.get("uid") == uid for owner in owners)


def _end_of(job: Body) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((each["type"] for each in conditions if each.get("status") == "True" and each["type"] in _LIMITS), "")
