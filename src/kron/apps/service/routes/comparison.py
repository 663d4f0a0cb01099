"""Comparison of a schedule with a new definition, before it is stored."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from kron.apps.comparison import COMPARED_MS, definition_effect
from kron.apps.service.auth.caller import Caller, Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.config import Config
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.queries import At, milliseconds, no_run_reason
from kron.apps.service.schemas import plans
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition, Id
from kron.apps.service.schemas.views import schedule_view, upcoming_run
from kron.rules.comparison import Comparison
from kron.rules.state import ScheduleState
from kron.timing.zone import rfc3339, rfc3339_ms

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

COMPARED_FIELDS = (
    *("schedule", "dialect", "timezone", "target", "name", "description"),
    *("overlap_policy", "catchup_policy"),
)


@router.post("/schedules/{schedule_id}/compare")
async def compare(
    schedule_id: Id, body: Definition, caller: Reader, until: At = None, parts: AppContext = Used
) -> plans.ScheduleComparison:
    """Return the upcoming runs that a definition would add, move and lose, within 30 days or up to an instant.

    At most 1,000 runs of each definition are compared. All runs of a schedule that does not exist are added. Nothing
    is stored.
    """
    identity = caller.identity(schedule_id)
    (stored,), now = await parts.store.get_with_time([identity])
    state = None if stored is None or stored.deleted else stored
    job, warnings = await compute(job_of, body, identity, parts.config, now // 1000)
    upto = now + COMPARED_MS if until is None else milliseconds(until)
    after, new, comparison = await definition_effect(job, stored, now, upto)
    reason = None if new.dues else await no_run_reason(after, now, timed_out=not new.complete)
    changes = changed_fields(state, body, caller, parts.config) if state else []
    revision = state.revision if state else 0
    return _view(comparison, changes=changes, revision=revision, reason=reason, warnings=warnings)


def changed_fields(state: ScheduleState, body: Definition, caller: Caller, config: Config) -> list[str]:
    """Return the changed fields of a new definition that the list of runs does not show, as `field: old -> new`."""
    stored = schedule_view(state, caller, config).model_dump()
    given = body.model_dump(include=body.model_fields_set)
    fields = [field for field in COMPARED_FIELDS if field in given and field in stored]
    return [f"{name}: {stored[name]} -> {given[name]}" for name in fields if stored[name] != given[name]]


def _view(comparison: Comparison, **more: Any) -> plans.ScheduleComparison:
    moved = [
        plans.MovedRun(period=rfc3339(old.nominal), before=rfc3339_ms(old.at), after=rfc3339_ms(new.at))
        for old, new in comparison.moved
    ]
    added, lost = ([upcoming_run(due) for due in dues] for dues in (comparison.added, comparison.lost))
    return plans.ScheduleComparison(added=added, moved=moved, lost=lost, until=rfc3339_ms(comparison.upto), **more)
