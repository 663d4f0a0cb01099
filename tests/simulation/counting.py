"""The limits of a schedule, by the checker's own count of the ledger: runs, failures in a row, active runs."""

from __future__ import annotations

from collections.abc import Iterator

from kron.rules.action import ActionKind
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.schedule.policy import Overlap
from tests.simulation.history import Write
from tests.simulation.replay import Story, active, is_open, taken_on

OWN = ("backfill:", "backfill/", "redrive:", "redrive/")  # triggers of runs that name their own overlap policy


def of_write(write: Write, story: Story) -> Iterator[str]:
    """The limits that one write breaks."""
    if story.case is None or not story.eras:
        return
    for before, run in write.runs:
        about = f"{run.identity} {run.nominal}{run.trigger} ({run.key[:8]})"
        yield from (f"{text}: {about}" for text in _of_run(write, story, before, run))
    policy, new = story.eras[-1].policy, taken_on(write)
    if policy.max_runs is not None and new and story.counted + len(new) > policy.max_runs:
        yield f"run {story.counted + len(new)} of at most {policy.max_runs}: {story.identity} by {write.who}"
    limit, begun = policy.pause_on_failure, [run for before, run in write.runs if _begins(before, run)]
    if limit is not None and story.failures >= limit and begun and not story.case.paused:
        yield f"started after {story.failures} failures in a row, with a limit of {limit}: {story.identity}"
    action = write.what.action if isinstance(write.what, ScheduleUpdate) else None
    if action and action.kind is ActionKind.PAUSED and write.who.startswith("w"):
        count = story.failures_after(write)
        if limit is None or count < limit:
            yield f"paused by {write.who} after {count} failures in a row, with a limit of {limit}: {story.identity}"
        if story.case.paused or story.case.deleted:
            yield f"paused by {write.who} though it was paused or deleted: {story.identity}"


def _of_run(write: Write, story: Story, before: Run | None, run: Run) -> Iterator[str]:
    """Time limits, and limits of active runs."""
    timed_out = run.reason is Reason.TIMEOUT and before is not None and before.reason is not Reason.TIMEOUT
    if timed_out and (before.ends_by is None or before.ends_by > write.now or isinstance(write.what, RunUpdate)):
        yield f"timed out at {write.now}, with a limit at {before.ends_by}"
    policy = story.eras[-1].policy
    starts = str(run.state) == "launching" and not (before is not None and active(before))
    if policy.overlap is not Overlap.ALLOW or policy.overlap_limit is None or not starts or run.trigger.startswith(OWN):
        return
    others = story.open | {other.key: other for _, other in write.runs}
    count = sum(active(other) for other in others.values() if other.key != run.key)
    if count >= policy.overlap_limit:
        yield f"started beside {count} others, with a limit of {policy.overlap_limit}"


def of_end(story: Story, shown: int, slack: int) -> Iterator[str]:
    """A schedule that should long have been paused."""
    case = story.case
    if case is None or case.paused or case.deleted:
        return
    limit = case.policy.pause_on_failure
    if limit is not None and story.failures >= limit and story.failed_at < shown - slack:
        yield f"not paused after {story.failures} failures in a row, with a limit of {limit}: {story.identity}"


def _begins(before: Run | None, run: Run) -> bool:
    """Whether a period of the calendar is launched for the first time."""
    is_first = before is None or str(before.state) == "pending"
    return not run.trigger and is_first and str(run.state) == "launching" and is_open(run)
