"""Fields of schedules and runs as users see them: the HTTP API and the command line name them alike."""

from __future__ import annotations

from typing import Any

from kron.language.canonical import canonical
from kron.language.english import describe
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period
from kron.timing.zone import rfc3339, rfc3339_ms


def instant_text(at: int | None) -> str | None:
    """Return an instant (milliseconds) as RFC 3339; None without one."""
    return None if at is None else rfc3339_ms(at)


def next_run_at(state: ScheduleState) -> str | None:
    """Return the nominal time of the next period as RFC 3339; None if no period is planned."""
    nominal = next_period(state)
    return None if nominal is None else rfc3339(nominal)


def state_fields(state: ScheduleState) -> dict[str, Any]:
    """Return the state of a schedule, without its definition."""
    return {
        "canonical": canonical(state.job.schedule).text,
        "revision": state.revision,
        "summary": describe(state.job.schedule),
        "paused": state.paused,
        "paused_until": None if state.paused_until is None else rfc3339(state.paused_until // 1000),
        "next_run_at": next_run_at(state),
        "run_count": state.run_count,
        "runs_left": state.runs_left,
        "failure_count": state.failure_count,
    }


def run_fields(run: Run) -> dict[str, Any]:
    """Return a run, without the name of its schedule."""
    return {
        "key": run.key,
        "period": rfc3339(run.nominal),
        "due_at": rfc3339_ms(run.due),
        "state": str(run.state),
        "outcome": str(run.outcome) if run.outcome else None,
        "reason": str(run.reason) if run.reason else None,
        "trigger": run.trigger or None,
        "revision": run.revision,
        "attempt": run.attempt,
        "created_at": rfc3339_ms(run.created),
        "updated_at": rfc3339_ms(run.changed),
        "started_at": instant_text(run.started),
        "finished_at": instant_text(run.finished),
    }
