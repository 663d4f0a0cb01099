"""Whoever waits is on somebody's list: a schedule is to be looked at no later than the first thing to be done."""

from __future__ import annotations

from collections.abc import Iterator

from kron.rules.run import RESERVED_PREFIXES, Run, overlap_of
from kron.timing.schedule.policy import Overlap
from tests.simulation.replay import Story, active


def of_story(story: Story) -> Iterator[str]:
    """What a story as it stands would sleep past."""
    if story.case is None or not story.open:
        return
    for run in story.open.values():
        need = _need(run, story)
        if need is None:
            continue
        seen = max(need, story.touched, run.changed)  # whoever wrote it may have seen a later time than the last write
        seen += 1_000 if _edited(run, story) else 0
        if story.wake is None or story.wake > seen:
            about = f"{run.identity} {run.nominal}{run.trigger} ({run.key[:8]})"
            yield f"nobody will look when it is time: {about} {run.state}, needs {need}, wake {story.wake}"


def _need(run: Run, story: Story) -> int | None:
    """When something is to be done about an open run; None: not before something else happens."""
    assert story.case
    state = str(run.state)
    if state == "retry":
        return run.not_before
    if state in ("launching", "enqueued", "started"):
        return run.lease if run.ends_by is None or run.lease is None else min(run.lease, run.ends_by)
    if state == "pending" and story.case.is_inactive:
        return None
    return None if _blocked(run, story) else run.not_before


def _edited(run: Run, story: Story) -> bool:
    """Whether it replaces one that was sent before the last edit: who answers does not know that another waits."""
    assert story.case
    if overlap_of(run, story.case.policy) is not Overlap.REPLACE:
        return False
    running = [other for other in story.open.values() if str(other.state) in ("enqueued", "started")]
    return any(other.sent <= story.case.effective_from for other in running)


def _blocked(run: Run, story: Story) -> bool:
    assert story.case
    overlap = overlap_of(run, story.case.policy)
    others = [other for other in story.open.values() if other.key != run.key and active(other)]
    if overlap is Overlap.REPLACE and str(run.state) == "pending":
        others = [other for other in others if str(other.state) in ("launching", "retry")]
    limit = story.case.policy.overlap_limit
    if overlap is Overlap.ALLOW:
        return limit is not None and len(others) >= limit and not run.trigger.startswith(RESERVED_PREFIXES)
    return bool(others)
