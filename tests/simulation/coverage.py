"""No period without an answer: each has one record, or lies in one gap, and gaps count exactly."""

from __future__ import annotations

from collections.abc import Iterator

from kron.rules.outcome import Reason
from kron.timing.schedule.policy import Catchup, FirstPeriod
from tests.simulation.calendar import REACH
from tests.simulation.replay import Dropped, Era, Story


def of_story(story: Story, shown: int, slack: int) -> Iterator[str]:
    """What a story leaves unexplained. `shown` is the store's time at the end, `slack` what a worker may be behind."""
    dropped: dict[int, int] = {}
    for gap in story.gaps:
        for nominal in gap.members:
            dropped[nominal] = dropped.get(nominal, 0) + 1
    for nominal, times in dropped.items():
        if times > 1:
            yield f"in {times} gaps: {story.identity} {nominal}"
        if nominal in story.recorded:
            yield f"in a gap, and recorded: {story.identity} {nominal}"
    for gap in story.gaps:
        yield from _of_gap(story, gap)
    for era in story.eras:
        for nominal in _due(era, shown, slack, first=era is story.eras[0]):
            if nominal not in story.recorded and nominal not in dropped:
                yield f"unexplained: {story.identity} r{era.revision} {nominal}, due {era.calendar.at(nominal).due}"


def _due(era: Era, shown: int, slack: int, *, first: bool) -> Iterator[int]:
    """The periods that the era had to answer for."""
    yield from era.lost
    if era.ended is not None and (era.dropped or era.idle):  # whatever lay between the cursor and its end
        upto, due_by = era.ended // 1000, None if era.resumed else era.ended
    elif era.idle:
        return
    else:
        due_by = era.ended if era.ended is not None else shown - slack
        upto = due_by // 1000 + REACH
    for nominal in era.calendar.between(min(era.cursor, era.since // 1000 - REACH) if first else era.cursor, upto):
        if (
            era.answers_for(nominal)
            and not era.is_over(nominal)
            and (due_by is None or era.calendar.at(nominal).due <= due_by)
        ):
            yield nominal
    if era.ended is not None and (era.dropped or era.idle):
        yield from _due_early(era, era.ended)


def _due_early(era: Era, ended: int) -> Iterator[int]:
    """The periods that fell due before the end of an era that drops what passed, and whose nominal times are later."""
    for nominal in era.calendar.between(ended // 1000, ended // 1000 + REACH):
        period = era.calendar.at(nominal)
        if period.schedulable and period.due <= ended and era.answers_for(nominal) and not era.is_over(nominal):
            yield nominal


def _of_gap(story: Story, gap: Dropped) -> Iterator[str]:
    about = f"{story.identity} {gap.gap.first}..{gap.gap.last} {gap.gap.reason}"
    if len(gap.members) != gap.gap.count:
        yield f"a gap of {len(gap.members)} periods that says {gap.gap.count}: {about}"
    policy = gap.era.policy
    why = {Catchup.NONE: Reason.CATCHUP_NONE, Catchup.LATEST: Reason.COALESCED}.get(policy.catchup, Reason.REPLAY_BOUND)
    end = gap.era.calendar.job.end
    catches_up = policy.catchup not in (Catchup.NONE, Catchup.BY_DEADLINE)
    if end is not None and gap.at >= (end + 1) * 1000 and catches_up:
        why = Reason.ENDED
    if gap.gap.reason not in (why, Reason.PAUSED, Reason.SUSPENDED):
        yield f"a gap for a reason that does not hold: {about}"
    for nominal in gap.members:
        period = gap.era.calendar.at(nominal)
        if gap.gap.reason not in (Reason.PAUSED, Reason.SUSPENDED) and period.due > gap.at:
            yield f"a gap over a period that is not due: {about}, {nominal}"
        early = period.last < story.eras[0].since // 1000 * 1000 and nominal not in (gap.era.carried or ())
        if early and policy.first_period is not FirstPeriod.CURRENT_MINUTE:
            yield f"a gap over a period from before the schedule was: {about}, {nominal}"
