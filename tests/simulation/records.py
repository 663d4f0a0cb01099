"""What every single write must obey: one record a period, forward only, by whoever holds it, for a true reason."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from kron.rules.action import ActionKind
from kron.rules.downtime import ALWAYS
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import NOTHING, ScheduleState
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.job import Job
from kron.timing.schedule.policy import Catchup, FirstPeriod, Overlap, Policy, Resume
from tests.simulation.calendar import REACH
from tests.simulation.history import Write
from tests.simulation.replay import Era, Story, active, is_open, token

FIRST = {State.PENDING, State.LAUNCHING, State.SKIPPED, State.MISSED, State.UNSCHEDULABLE}
_RUNNING = {"launching", "retry", "started", "success", "failed", "lost", "cancelled", "waiting"}
NEXT: dict[str, set[str]] = {
    "pending": {"launching", "skipped", "missed"},
    "launching": {"launching", "retry", "enqueued", "success", "failed", "unknown", "waiting"},
    "retry": {"launching", "retry", "success", "failed", "unknown", "waiting", "missed", "lost", "skipped"},
    "enqueued": _RUNNING,
    "started": _RUNNING,
    "waiting": {"launching", "failed"},
}
ENDS = {
    ("skipped", "skipped", Reason.OVERLAP),
    ("skipped", "skipped", Reason.REPLACED),
    ("skipped", "skipped", Reason.QUEUE_OVERFLOW),
    ("skipped", "skipped", Reason.DELETED),
    ("skipped", "skipped", Reason.PAUSED),
    ("skipped", "skipped", Reason.SUSPENDED),
    ("skipped", "skipped", Reason.SUPERSEDED),
    ("missed", "missed", Reason.DEADLINE),
    ("missed", "missed", Reason.CATCHUP_NONE),
    ("missed", "missed", Reason.COALESCED),
    ("missed", "missed", Reason.ENDED),
    ("unschedulable", "unschedulable", Reason.CONSTRAINTS),
    ("failed", "missed", Reason.LAUNCH_FAILED),
    ("failed", "executed", Reason.FAILED),
    ("failed", "executed", Reason.LAUNCH_FAILED),
    ("failed", "executed", Reason.TIMEOUT),
    ("unknown", "executed", Reason.UNKNOWN),
    ("success", "executed", None),
    ("lost", "executed", Reason.SILENT),
    ("cancelled", "executed", Reason.REPLACED),
}


ASLEEP = {Reason.PAUSED, Reason.SUSPENDED, Reason.SUPERSEDED}


def of_write(write: Write, story: Story, latest: int) -> Iterator[str]:
    """The rules that one write breaks. `latest` is the latest that the store's clock has ever shown."""
    keys = [run.key for _, run in write.runs]
    if len(keys) != len(set(keys)):
        yield "one write has two records of one run"
    for before, run in write.runs:
        about = f"{run.identity} {run.nominal}{run.trigger} ({run.key[:8]})"
        yield from (f"{text}: {about} by {write.who}" for text in _of_run(write, story, before, run, latest))
    if isinstance(write.what, ScheduleUpdate):
        yield from (f"{text}: {story.identity} by {write.who}" for text in _of_case(write, write.what, story))


def _of_run(write: Write, story: Story, before: Run | None, run: Run, latest: int) -> Iterator[str]:
    known = story.runs.get(run.key)
    if before is None:
        if known or (not run.trigger and run.nominal in story.recorded):
            yield "a second record of one period"
        if run.state not in FIRST:
            yield f"a record that begins as {run.state}"
        if run.trigger.startswith("trigger") and any(r.trigger == run.trigger for r in story.runs.values()):
            yield "one request, and a second run"
        if not run.trigger:
            if run.key != sha256(f"{run.identity}:{run.nominal}".encode()).hexdigest():
                yield "a key that another record of the period would not have"
            yield from _of_new(write, story, run)
    else:
        yield from _of_step(write, known, before, run)
    if run.state is State.LAUNCHING and (before is None or run.attempt > before.attempt):
        yield from _of_claim(write, story, before, run, latest)
    if not is_open(run):
        yield from _of_end(write, story, before, run)


def _of_step(write: Write, known: Run | None, before: Run, run: Run) -> Iterator[str]:
    if known is None:
        yield "a change of a run that has no record"
        return
    if not is_open(known):
        yield f"a change after its end, from {known.state} to {run.state}"
    elif token(known) != token(before):
        yield f"a write of a fenced attempt, {token(before)} over {token(known)}"
    elif run.state not in NEXT[known.state]:
        yield f"from {known.state} to {run.state}"
    if known.outcome is not None and run.outcome is not known.outcome:
        yield f"its outcome changed from {known.outcome} to {run.outcome}"
    if run.attempt not in (known.attempt, known.attempt + 1):
        yield f"attempt {run.attempt} after {known.attempt}"
    if run.unsent not in (known.unsent, known.unsent + (known.state is State.LAUNCHING and run.state is State.RETRY)):
        yield f"{run.unsent} withheld after {known.unsent}"
    if (known.nominal, known.due, known.trigger, known.revision) != (run.nominal, run.due, run.trigger, run.revision):
        yield "its period, time or revision changed"
    silent = run.state in (State.LOST, State.RETRY, State.UNKNOWN) and isinstance(write.what, ScheduleUpdate)
    if silent and known.lease is not None and known.lease > write.now:
        yield f"taken for silent {known.lease - write.now} ms before its lease ended"
    answered = isinstance(write.what, RunUpdate) and write.who.startswith("w")
    if answered and write.who != known.owner:
        yield f"an answer to {known.owner} written by another"


def _of_claim(write: Write, story: Story, before: Run | None, run: Run, latest: int) -> Iterator[str]:
    if run.owner != write.who:
        yield f"claimed for {run.owner}"
    ready = max(run.due, run.not_before)
    if write.now < ready and (latest < run.due or run.not_before > write.now):
        yield f"started {ready - write.now} ms early"
    if run.lease is None or run.lease <= write.now:
        yield "claimed without a lease"
    if before is not None and active(before):
        return
    policy = _policy(write)
    others = story.open | {r.key: r for _, r in write.runs}
    if policy.overlap is not Overlap.ALLOW and any(active(r) for r in others.values() if r.key != run.key):
        yield f"started beside another, in the record, under {policy.overlap}"
    if not run.trigger and run.outcome is None:
        yield from _of_deadline(write, _own(story, run, policy), run)
    idle = story.case is None or (story.case.deleted if run.trigger else story.case.is_inactive)
    if idle and (before is None or before.state is State.PENDING):
        yield "started while its schedule was paused or deleted"


def _own(story: Story, run: Run, policy: Policy) -> Policy:
    """The policy of a run: that of the revision under which it was recorded."""
    if policy.first_period is FirstPeriod.CURRENT_MINUTE:
        return policy  # a task has one configuration
    return next((era.policy for era in story.eras if era.revision == run.revision), policy)


def _of_deadline(write: Write, policy: Policy, run: Run) -> Iterator[str]:
    patient = policy.overlap in (Overlap.QUEUE, Overlap.COALESCE, Overlap.REPLACE)
    if policy.deadline is None or patient:
        return
    late = (write.now - max(run.due, run.not_before)) * 1_000_000
    if late > policy.deadline and late >= policy.resolution:
        yield f"started {late / 1e9:.1f} s after its time, with a deadline of {policy.deadline / 1e9:.0f} s"


def _of_new(write: Write, story: Story, run: Run) -> Iterator[str]:
    """A period of the calendar, taken on."""
    if not story.eras or story.case is None:
        yield "a record of no schedule"
        return
    era = story.eras[-1]
    if story.case.is_inactive and run.reason not in ASLEEP and not _lifts(write, story.case):
        yield "taken on while its schedule was paused or deleted"
    if run.revision != era.revision:
        yield f"recorded under revision {run.revision}, in the time of {era.revision}"
    if era.calendar.between(run.nominal - 1, run.nominal) != [run.nominal]:
        yield "no period of its calendar"
        return
    period = era.calendar.at(run.nominal)
    if not era.answers_for(run.nominal):
        yield "a period from before its revision"
    if not period.first <= run.due <= period.last and era.calendar.job.start is None and era.calendar.job.end is None:
        yield "chosen outside its window"
    if run.due != period.due:
        yield f"chosen at {run.due}, not {period.due}"
    if (write.now < run.due) is not (run.reason is Reason.SUPERSEDED):
        yield f"taken on {run.due - write.now} ms early"
    if (run.state is State.UNSCHEDULABLE) == period.schedulable:
        yield f"recorded as {run.state}"
    if run.nominal <= story.case.cursor:
        yield "taken on behind the cursor"
    if period.schedulable:
        yield from _of_pause(story.eras, run)
        yield from _of_lateness(write, era, run) if run.reason not in ASLEEP else ()


def _of_pause(eras: list[Era], run: Run) -> Iterator[str]:
    """What fell due before a resumption that drops such periods is recorded with it, not later."""
    former = eras[-2] if len(eras) > 1 else None
    if former is not None and former.resumed and former.ended is not None and run.due <= former.ended:
        yield f"{run.state} {run.reason}, though it fell due before a resumption that drops such periods"


def _lifts(write: Write, case: ScheduleState) -> bool:
    """Whether an edit ends a suspension, and what passed is judged by its deadline, as after a pause."""
    what = write.what
    edited = isinstance(what, ScheduleUpdate) and what.revision is not None and not what.after.policy.suspend
    return edited and not case.paused and not case.deleted and case.policy.resume is Resume.BY_DEADLINE


def _of_lateness(write: Write, era: Era, run: Run) -> Iterator[str]:
    policy, late = era.policy, (write.now - run.due) * 1_000_000
    if late < policy.resolution:
        return
    too_late = policy.deadline is not None and late > policy.deadline
    if too_late and run.reason not in (Reason.DEADLINE, Reason.COALESCED):
        yield f"too late by its deadline, and recorded as {run.state} {run.reason}"
    gave_way = run.reason is Reason.COALESCED and policy.overlap is Overlap.COALESCE
    if not too_late and _moved(write, era, run) and run.state is State.MISSED and not gave_way:
        yield f"an edit moved it into the past, and it is recorded as {run.reason}"


def _moved(write: Write, era: Era, run: Run) -> bool:
    """Whether an edit that was just made took the period over."""
    fresh = (write.now - era.since) * 1_000_000 < era.policy.resolution
    return fresh and era.carried is not None and run.nominal in era.carried


def _is_full(policy: Policy, others: list[Run]) -> bool:
    """Whether as many other runs are active, before or after the write, as may be at once."""
    limit = policy.overlap_limit
    return policy.overlap is Overlap.ALLOW and limit is not None and len({r.key for r in others if active(r)}) >= limit


def _after_its_end(write: Write, job: Job) -> bool:
    return job.end is not None and write.now >= (job.end + 1) * 1000


def _of_end(write: Write, story: Story, before: Run | None, run: Run) -> Iterator[str]:
    if (str(run.state), str(run.outcome), run.reason) not in ENDS:
        yield f"ended as {run.state} {run.outcome} {run.reason}"
    if run.outcome is Outcome.EXECUTED and not run.attempt:
        yield "executed without an attempt"
    attempted = run.attempt > run.unsent or (before is not None and before.attempt > before.unsent)
    failed = run.reason in (Reason.LAUNCH_FAILED, Reason.DEADLINE)
    if run.outcome in (Outcome.SKIPPED, Outcome.MISSED) and attempted and not failed:
        yield f"{run.outcome} after an attempt"
    policy, late = _policy(write), (write.now - run.due) * 1_000_000
    own = _own(story, run, policy)
    others = [r for r in (*story.open.values(), *(r for _, r in write.runs)) if r.key != run.key]
    asked = not write.who.startswith("w")  # a run that waits its turn stands in the way of one that is asked for
    busy = any(active(r) or (asked and r.state is State.PENDING) for r in others)
    true = {
        Reason.OVERLAP: busy if policy.overlap is Overlap.SKIP else _is_full(policy, others),
        Reason.REPLACED: policy.overlap is Overlap.REPLACE,
        Reason.QUEUE_OVERFLOW: policy.overlap is Overlap.QUEUE and busy,
        Reason.COALESCED: policy.overlap is Overlap.COALESCE or policy.catchup is Catchup.LATEST,
        Reason.DEADLINE: own.deadline is not None and late > own.deadline and late >= own.resolution,
        Reason.CATCHUP_NONE: policy.catchup is Catchup.NONE and late >= policy.resolution,
        Reason.ENDED: bool(story.eras) and _after_its_end(write, story.eras[-1].calendar.job),
        Reason.PAUSED: bool(story.case and story.case.paused),
        Reason.SUSPENDED: bool(story.case and story.case.policy.suspend),
        Reason.SUPERSEDED: isinstance(write.what, ScheduleUpdate) and write.what.revision is not None,
        Reason.DELETED: isinstance(write.what, ScheduleUpdate) and write.what.after.deleted,
    }
    if run.reason is not None and not true.get(run.reason, True):
        yield f"{run.state} for a reason that does not hold: {run.reason}"


def _of_case(write: Write, settlement: ScheduleUpdate, story: Story) -> Iterator[str]:
    case, after = story.case, settlement.after
    if case is None:
        return
    if after.cursor < case.cursor:
        yield f"the cursor went back from {case.cursor} to {after.cursor}"
    if after.revision < case.revision:
        yield f"the revision went back from {case.revision} to {after.revision}"
    if settlement.before is not None and settlement.before.revision != case.revision:
        yield "a plan of an old revision was written"
    yield from _of_definition(write, settlement, case)
    era = story.eras[-1]
    taken = [run for run in settlement.new if not run.trigger]
    at_once = not write.who.startswith("w")  # an edit leaves nothing to the next pass
    if not at_once and len(taken) > era.policy.catchup_limit + _open_at_once(era, write.now):
        yield f"{len(taken)} periods handled one by one, with a bound of {era.policy.catchup_limit}"


def _of_definition(write: Write, settlement: ScheduleUpdate, case: ScheduleState) -> Iterator[str]:
    """Only who is asked changes a definition or a pause, and what it answers for starts when it does."""
    after, act = settlement.after, settlement.action
    if act and act.kind is ActionKind.RESUMED and act.at == case.paused_until:
        yield from _of_awakening(write, after, case)
        return
    if write.who.startswith("w"):
        paused_by_itself = act is not None and act.kind is ActionKind.PAUSED  # `counting` asks whether it may
        same = ("job", "revision", "effective_from", "deleted", *(() if paused_by_itself else ("paused",)))
        for name in same:
            if getattr(after, name) != getattr(case, name):
                yield f"a worker changed the {name}"
    if after.effective_from == case.effective_from:
        if after.revision != case.revision and after.effective_from != write.now:  # unless in the same millisecond
            yield "a new revision that answers for the time of the old one"
    elif after.effective_from != write.now:
        yield f"it answers for the time since {after.effective_from}, says somebody at {write.now}"


def _of_awakening(write: Write, after: ScheduleState, case: ScheduleState) -> Iterator[str]:
    """A pause that ends by itself ends on time or later, as of its instant, and changes nothing else."""
    if not case.paused or case.paused_until is None or case.paused_until > write.now:
        yield f"it awoke {case.paused_until} at {write.now}"
        return
    since = case.paused_until - 1 if case.policy.resume is Resume.DROP else case.effective_from
    owed = frozenset() if case.policy.resume is Resume.DROP else case.owed
    apart = {
        "cursor": 0,
        "next_check_at": None,
        "open_runs": (),
        "handled_ahead": frozenset(),
        "downtime": ALWAYS,
        "former": NOTHING,
        "failure_count": 0,
    }
    if after._replace(**apart) != case._replace(
        **apart, paused=False, paused_until=None, effective_from=since, owed=owed
    ):
        yield "it awoke as something else"


def _open_at_once(era: Era, now: int) -> int:
    """How many windows are open now."""
    job = era.calendar.job
    if not (job.schedule.policy.jitter or job.schedule.window.duration):
        return 0
    around = (era.calendar.at(n) for n in era.calendar.between(now // 1000 - REACH, now // 1000 + REACH))
    return sum(period.first - 1000 <= now <= period.last + 1000 for period in around)


def _policy(write: Write) -> Policy:
    case = write.what.before if isinstance(write.what, ScheduleUpdate) else None
    return case.policy if case else write.what.after.policy if isinstance(write.what, ScheduleUpdate) else Policy()
