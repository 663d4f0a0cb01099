"""Conversion of overviews and periods to response bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kron.apps.service.auth.caller import Caller
from kron.apps.service.config import Config
from kron.apps.service.schemas import overview, responses
from kron.apps.service.schemas.views import change_view, run_view, text_of, visible_attempts
from kron.engine.attention import Attention
from kron.engine.fleet import Member, shares
from kron.engine.overview import Activity, OutcomeCount, WorkerRecord
from kron.engine.periods import PeriodLine
from kron.rules.action import ScheduleAction
from kron.rules.gap_record import GapRecord
from kron.rules.load import Load
from kron.rules.next_runs import NextRun
from kron.rules.update import Revision
from kron.timing.schedule.window import SECOND
from kron.timing.zone import rfc3339, rfc3339_ms

MAX_KINDS = 100  # kinds of target that are shown of each worker


def stats_view(counts: Sequence[OutcomeCount], first: int, last: int, step: int) -> overview.Stats:
    """Return outcomes by interval."""
    views = [
        overview.OutcomeCountView(
            at=rfc3339(each.start), state=str(each.state), reason=text_of(each.reason), periods=each.periods
        )
        for each in counts
    ]
    return overview.Stats(start=rfc3339(first), end=rfc3339(last), step=step, counts=views)


def load_view(load: Load, first: int, last: int, step: int) -> overview.LoadView:
    """Return the load of a range."""
    intervals = [
        overview.LoadIntervalView(
            at=rfc3339(each.start),
            runs=each.runs,
            busiest=each.busiest,
            busiest_at=None if each.busiest_at is None else rfc3339(each.busiest_at),
        )
        for each in load.intervals
    ]
    return overview.LoadView(
        start=rfc3339(first),
        end=rfc3339(last),
        step=step,
        intervals=intervals,
        kinds=[overview.LoadKindView(**kind._asdict()) for kind in load.kinds],
        counted_at=None if load.written is None else rfc3339_ms(load.written),
    )


def workers_view(records: Sequence[WorkerRecord], now: int) -> overview.Workers:
    """Return the registered workers. The shards follow from the living ones, as each worker computes its own."""
    living = [Member(each.owner, each.joined, each.kinds, each.tz) for each in records if each.until > now]
    return overview.Workers(workers=[_worker_view(record, living, now) for record in records])


def _worker_view(record: WorkerRecord, living: Sequence[Member], now: int) -> overview.WorkerView:
    own_shares = shares(record.owner, living) if record.until > now else ()
    return overview.WorkerView(
        owner=record.owner,
        alive=record.until > now,
        joined_at=rfc3339_ms(record.joined),
        renewed_at=rfc3339_ms(record.renewed),
        lease_until=rfc3339_ms(record.until),
        kinds=sorted(record.kinds)[:MAX_KINDS],
        shards=sorted({shard for share in own_shares for shard in share.shards}),
        tz=record.tz,
    )


def next_run_view(run: NextRun, caller: Caller) -> overview.NextRunView:
    """Return the next run of a schedule."""
    return overview.NextRunView(
        schedule_id=caller.name(run.identity), period=rfc3339(run.due.nominal), at=rfc3339_ms(run.at)
    )


def attention_view(found: Attention, caller: Caller) -> overview.AttentionView:
    """Return what needs attention."""
    late = [
        overview.LateSchedule(schedule_id=caller.name(state.identity), since=rfc3339_ms(state.next_check_at))
        for state in found.late
        if state.next_check_at is not None
    ]
    paused = [
        overview.PausedSchedule(schedule_id=caller.name(state.identity), paused_until=_instant(state.paused_until))
        for state in found.paused
    ]
    return overview.AttentionView(
        late=late,
        troubled=[
            overview.TroubledSchedule(schedule_id=caller.name(identity), state=str(state))
            for identity, state in found.troubled
        ],
        dead_letters=[run_view(run, caller) for run in found.dead_letters],
        paused=paused,
    )


def activity_view(activity: Activity, caller: Caller, config: Config) -> overview.ActivityView:
    """Return a change of a schedule, with the name of the schedule."""
    change = activity.change
    view = change_view(change, config) if isinstance(change, Revision) else action_view(change)
    return overview.ActivityView(**view.model_dump(), schedule_id=caller.name(activity.identity))


def action_view(action: ScheduleAction) -> responses.Change:
    """Return an action as a change of its schedule."""
    return responses.Change(
        action=str(action.kind),
        at=rfc3339_ms(action.at),
        actor=action.actor,
        note=action.note,
        until=_instant(action.until),
    )


def period_view(line: PeriodLine, caller: Caller) -> overview.PeriodView:
    """Return a period of a schedule as the caller may see it."""
    line = replace(line, report=replace(line.report, attempts=visible_attempts(line.report.attempts, caller)))
    window, run, chosen = line.window, line.run, line.chosen
    return overview.PeriodView(
        period=line.period.id,
        requested=line.requested,
        revision=line.revision.number,
        window_start=None if window is None else rfc3339(*divmod(window.start, SECOND)),
        window_end=None if window is None else rfc3339(*divmod(window.end, SECOND)),
        chosen_at=None if chosen is None else rfc3339_ms(chosen),
        due_at=rfc3339_ms(line.due),
        outcome=text_of(line.outcome),
        reason=text_of(line.reason),
        absence=text_of(line.absence),
        paused_until=_instant(line.paused_until),
        explanation=line.text,
        run=run_view(run, caller) if run else None,
        gap=_gap_view(line.gap) if line.gap else None,
    )


def _gap_view(gap: GapRecord) -> overview.GapView:
    return overview.GapView(
        first=rfc3339(gap.first),
        last=rfc3339(gap.last),
        periods=gap.count,
        outcome=str(gap.outcome),
        reason=str(gap.reason),
    )


def _instant(at: int | None) -> str | None:
    return None if at is None else rfc3339(at // 1000)
