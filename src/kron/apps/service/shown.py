"""Case -> what people and programs see of a schedule; Run -> what they see of a run."""

from __future__ import annotations

from kron.apps.service import answers
from kron.apps.service.caller import Caller
from kron.apps.service.compute import coming_soon
from kron.apps.service.config import Config
from kron.apps.service.definition import described
from kron.coming import rests
from kron.core.case import Case
from kron.core.period import next_nominal
from kron.core.run import Run, State
from kron.core.zone import rfc3339, rfc3339_ms
from kron.language.english import english
from kron.registrar import Registrar

STATUS = {  # the five words of the document
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
PREVIEW = 5


def next_run_at(case: Case) -> str | None:
    """The planned time of the earliest period that is not handled; of a paused one, the first after its pause."""
    if rests(case):
        return None
    job = case.job
    after = max(case.cursor, case.since // 1000, case.cursor if job.start is None else job.start)
    after = max(after, (case.until - 1) // 1000) if case.until is not None else after
    nominal = next_nominal(job.schedule, after)
    return None if nominal is None or (job.end is not None and nominal > job.end) else rfc3339(nominal)


async def row(registrar: Registrar, case: Case, caller: Caller, config: Config) -> answers.Row:
    """A schedule by the names of the document, with the next fire times."""
    now, said = await registrar.store.now(), described(case.job, config)
    fires, _ = await coming_soon(case, now, PREVIEW)
    changes = [revision.at for revision in await registrar.store.revisions(case.identity)]
    changes += [act.at for act in await registrar.store.acts(case.identity)]
    return answers.Row(
        schedule_id=caller.name(case.identity),
        cron_expr=said["schedule"],
        timezone=case.job.schedule.zone.name,
        next_run_at=next_run_at(case),
        paused=case.paused,
        updated_at=rfc3339_ms(max(changes)),
        preview=[rfc3339_ms(due.at) for due in fires],
        **{name: said[name] for name in ("workflow_id", "version", "user_id", "start_at", "end_at", "jitter_ms")},
        **{name: said[name] for name in ("overlap_policy", "catchup_policy")},
    )


def shown(case: Case, caller: Caller, config: Config, warnings: list[str] | None = None) -> answers.Shown:
    """A schedule as it stands."""
    said = described(case.job, config)
    return answers.Shown(
        **{**said, "timezone": case.job.schedule.zone.name},
        id=caller.name(case.identity),
        revision=case.revision,
        in_words=english(case.job.schedule),
        paused=case.paused,
        paused_until=None if case.until is None else rfc3339(case.until // 1000),
        next_run_at=next_run_at(case),
        warnings=warnings or [],
    )


def run_row(run: Run, caller: Caller, run_id: str | None) -> answers.RunRow:
    """A run by the names of the document."""
    return answers.RunRow(
        idempotency_key=run.key,
        schedule_id=caller.name(run.identity),
        run_at=rfc3339(run.nominal),
        status=STATUS.get(run.state, "FAILED"),
        run_id=run_id,
        created_at=rfc3339_ms(run.created),
        updated_at=rfc3339_ms(run.changed),
    )


def run_shown(run: Run, caller: Caller, run_id: str | None = None) -> answers.RunShown:
    """A run as it stands."""
    return answers.RunShown(
        key=run.key,
        schedule_id=caller.name(run.identity),
        period=rfc3339(run.nominal),
        due=rfc3339_ms(run.due),
        state=str(run.state),
        outcome=str(run.verdict) if run.verdict else None,
        reason=str(run.reason) if run.reason else None,
        trigger=run.trigger or None,
        revision=run.revision,
        attempt=run.attempt,
        run_id=run_id,
        created_at=rfc3339_ms(run.created),
        updated_at=rfc3339_ms(run.changed),
    )
