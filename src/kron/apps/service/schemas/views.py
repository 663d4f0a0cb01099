"""Conversion of schedule states and runs to response bodies."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kron.apps.record_fields import next_run_at, run_fields, state_fields
from kron.apps.service.auth.caller import Caller
from kron.apps.service.compute import upcoming_within_time
from kron.apps.service.config import Config
from kron.apps.service.schemas import plans, responses
from kron.apps.service.schemas.definition import configured_source, described
from kron.engine.backfill_plan import PlannedPeriod
from kron.engine.registrar import Registrar
from kron.language.canonical import canonical, write_cron
from kron.language.kron import scan
from kron.rules.attempt import Attempt, without_worker_names
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import Revision
from kron.timing.due import Due
from kron.timing.schedule import Cron, Schedule
from kron.timing.zone import rfc3339, rfc3339_ms

STATUS = {  # the five statuses of the cron-service specification
    State.PENDING: "ENQUEUED",
    State.LAUNCHING: "ENQUEUED",
    State.RETRY: "ENQUEUED",
    State.ENQUEUED: "ENQUEUED",
    State.STARTED: "STARTED",
    State.WAITING: "STARTED",
    State.SUCCESS: "SUCCESS",
    State.SKIPPED: "SKIPPED",
    State.MISSED: "SKIPPED",
    State.UNSCHEDULABLE: "SKIPPED",
}
PREVIEW_SIZE = 5


async def row(registrar: Registrar, state: ScheduleState, caller: Caller, config: Config) -> responses.Row:
    """Return a schedule with the field names of the specification and its next fire times."""
    now, definition = await registrar.store.now(), described(state.job, config)
    search = await upcoming_within_time(state, now, PREVIEW_SIZE)
    changes = [revision.at for revision in await registrar.store.revisions(state.identity)]
    changes += [action.at for action in await registrar.store.actions(state.identity)]
    return responses.Row(
        schedule_id=caller.name(state.identity),
        cron_expr=_cron_expr(definition["schedule"], definition["dialect"], state.job.schedule),
        timezone=state.job.schedule.zone.name,
        next_run_at=next_run_at(state),
        paused=state.paused,
        updated_at=rfc3339_ms(max(changes)),
        preview=[rfc3339_ms(due.at) for due in search.dues],
        **{name: definition[name] for name in ("workflow_id", "version", "user_id", "start_at", "end_at", "jitter_ms")},
        **{name: definition[name] for name in ("overlap_policy", "catchup_policy")},
    )


def _cron_expr(text: str, dialect: str, schedule: Schedule) -> str:
    """Return the source text as the specification wants it: the cron fields alone, if they say everything but the zone.

    A sentence becomes its cron line. A text with a window or constraints stays whole.
    """
    if dialect == "fuzzy" and type(schedule.cron) is Cron:
        return write_cron(schedule.cron)
    cron_part, modifiers = scan(text) if dialect == "kron" else (text, [])
    return cron_part.strip(" \t") if [modifier.name for modifier in modifiers] == ["tz"] else text


def schedule_view(
    state: ScheduleState, caller: Caller, config: Config, warnings: list[str] | None = None
) -> responses.ScheduleView:
    """Return the current state of a schedule."""
    definition = described(state.job, config)
    return responses.ScheduleView(
        **definition, **state_fields(state), id=caller.name(state.identity), warnings=warnings or []
    )


def change_view(revision: Revision, config: Config) -> responses.Change:
    """Return a revision as a change of its schedule, with the text that its author wrote."""
    source = configured_source(revision.job, config)
    return responses.Change(
        action="defined",
        at=rfc3339_ms(revision.at),
        actor=revision.actor,
        note=revision.note,
        revision=revision.number,
        schedule=source.text,
        dialect=source.dialect,
        timezone=source.zone,
        canonical=canonical(revision.job.schedule).text,
    )


def run_row(run: Run, caller: Caller, run_id: str | None) -> responses.RunRow:
    """Return a run with the field names of the specification."""
    return responses.RunRow(
        idempotency_key=run.key,
        schedule_id=caller.name(run.identity),
        run_at=rfc3339(run.nominal),
        status=STATUS.get(run.state, "FAILED"),
        run_id=run_id,
        created_at=rfc3339_ms(run.created),
        updated_at=rfc3339_ms(run.changed),
    )


def attempt_views(attempts: Iterable[Attempt], caller: Caller) -> list[responses.AttemptView]:
    """Return attempts as the caller may see them."""
    return [
        responses.AttemptView(
            number=attempt.number,
            at=rfc3339_ms(attempt.at),
            duration_ms=attempt.duration,
            result=str(attempt.result),
            code=attempt.code,
            excerpt=attempt.excerpt,
        )
        for attempt in visible_attempts(attempts, caller)
    ]


def visible_attempts(attempts: Iterable[Attempt], caller: Caller) -> tuple[Attempt, ...]:
    """Return attempts without the names of workers, if the caller belongs to a tenant."""
    return without_worker_names(attempts) if caller.tenant else tuple(attempts)


def run_details(run: Run, caller: Caller, run_id: str | None, attempts: Iterable[Attempt]) -> responses.RunDetails:
    """Return the current state of a run with its attempts."""
    view = run_view(run, caller, run_id)
    return responses.RunDetails(**view.model_dump(), attempts=attempt_views(attempts, caller))


def upcoming_run(due: Due) -> responses.UpcomingRun:
    """Return an upcoming run: its period, and its due time."""
    return responses.UpcomingRun(period=rfc3339(due.nominal), at=rfc3339_ms(due.at))


def planned_backfill(periods: list[PlannedPeriod]) -> plans.BackfillPlan:
    """Return the periods of a backfill that is not made."""
    views = [
        plans.PlannedPeriod(
            period=rfc3339(period.nominal),
            ran=period.ran,
            outcome=text_of(period.outcome),
            reason=text_of(period.reason),
            state=text_of(period.run and period.run.state),
            key=period.run.key if period.run else None,
        )
        for period in periods
    ]
    return plans.BackfillPlan(periods=views, ran=sum(period.ran for period in periods))


def text_of(value: StrEnum | None) -> str | None:
    """Return a member of an enumeration as text; None without one."""
    return None if value is None else str(value)


def run_view(run: Run, caller: Caller, run_id: str | None = None) -> responses.RunView:
    """Return the current state of a run."""
    return responses.RunView(**run_fields(run), schedule_id=caller.name(run.identity), run_id=run_id)
