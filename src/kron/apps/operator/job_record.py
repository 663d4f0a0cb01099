"""Kubernetes Job as the operator's mirror keeps it: the run that it belongs to, and how it ended."""

from __future__ import annotations

from typing import NamedTuple

from kron.kube.kind import Body, Place, seconds_of
from kron.kube.names import CHOSEN, KRONJOB_LABEL, TRIGGER, Mark, job_name, mark_of
from kron.rules.launch_result import Report

_ENDS = {"Complete": Report.SUCCESS, "Failed": Report.FAILED}  # conditions; others announce an end that is to come


class JobRecord(NamedTuple):
    """Job in the cluster."""

    uid: str
    kronjob: str  # name of its KronJob
    mark: Mark
    trigger: str  # request of a manual run; empty for a period of the calendar
    nominal: int  # seconds
    chosen: int  # seconds
    end: Report | None  # None: it has not ended
    ended_at: int | None  # milliseconds
    cause: str  # why it failed
    started_at: int | None = None  # milliseconds: when its controller began with it
    is_ready: bool = False  # whether one of its pods is ready


def job_record_of(body: Body) -> JobRecord:
    """Return what the mirror keeps of a Job."""
    metadata = body["metadata"]
    annotations, status = metadata.get("annotations") or {}, body.get("status") or {}
    mark = mark_of(body)
    nominal = seconds_of(mark.period_id) or 0
    end, condition = _end_of(status)
    ended_at = seconds_of(status.get("completionTime") or condition.get("lastTransitionTime"))
    started_at = seconds_of(status.get("startTime") or metadata.get("creationTimestamp"))
    texts = (condition.get("reason"), condition.get("message"))
    return JobRecord(
        str(metadata.get("uid") or ""),
        str((metadata.get("labels") or {}).get(KRONJOB_LABEL) or ""),
        mark,
        str(annotations.get(TRIGGER) or ""),
        nominal,
        seconds_of(annotations.get(CHOSEN)) or nominal,
        end,
        None if ended_at is None or end is None else ended_at * 1000,
        ": ".join(str(text) for text in texts if text) if end is Report.FAILED else "",
        None if started_at is None else started_at * 1000,
        bool(status.get("ready")),
    )


def belongs_to_run(place: Place, record: JobRecord) -> bool:
    """Return whether Kron created a Job: it names a run, and has the name that follows from the run's key."""
    mark = record.mark
    return bool(mark.owner_uid and mark.key and record.nominal) and place.name == job_name(record.kronjob, mark.key)


def _end_of(status: Body) -> tuple[Report | None, Body]:
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in _ENDS:
            return _ENDS[condition["type"]], condition
    return None, {}
