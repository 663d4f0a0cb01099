"""Every schedule as the history tells it: its eras, its runs write by write, its gaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kron.rules.outcome import GapRecord, Reason
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.schedule.policy import Policy
from tests.simulation.calendar import REACH, Calendar
from tests.simulation.history import History, Write

ACTIVE = {"launching", "retry", "enqueued", "started"}  # it may be running
OPEN = ACTIVE | {"pending", "waiting"}


def active(run: Run) -> bool:
    """Whether it may be running; the engine's own opinion is not asked."""
    return str(run.state) in ACTIVE


def is_open(run: Run) -> bool:
    """Whether something may still become of it."""
    return str(run.state) in OPEN


def token(run: Run) -> tuple[str, int, str]:
    """What tells one attempt from every other."""
    return str(run.state), run.attempt, run.owner


@dataclass(slots=True)
class Era:
    """A stretch in which one revision answered for the periods from `since` on. Times in milliseconds."""

    calendar: Calendar
    revision: int
    since: int
    cursor: int  # when it began
    began: int
    ended: int | None = None
    idle: bool = False  # whether no period was handled when it ended, or now
    dropped: bool = False  # it ended while it was paused, or by a resumption, and drops what passed
    resumed: bool = False  # it ended by a resumption
    first: bool = False  # nobody had its name before
    carried: frozenset[int] | None = None  # the open periods that an edit handed over to it; None: it was created
    lost: frozenset[int] = frozenset()  # and those that its own end left without a calendar

    def answers_for(self, nominal: int) -> bool:
        """Whether the era owes that period."""
        if self.carried is None:  # and if its name was used before, its last life had what lay behind its cursor
            return (self.first or nominal > self.cursor) and self.calendar.answers_for(nominal, self.since)
        return nominal * 1000 > self.since or nominal in self.carried

    @property
    def policy(self) -> Policy:
        return self.calendar.job.schedule.policy


@dataclass(slots=True)
class Dropped:
    """A gap as it was written: the periods it stands for, by the calendar of its time."""

    gap: GapRecord
    members: list[int]
    at: int
    era: Era


@dataclass(slots=True)
class Story:
    """One schedule."""

    identity: str
    eras: list[Era] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    open: dict[str, Run] = field(default_factory=dict)  # those of them of which something may still become
    wake: int | None = None  # when it is to be looked at
    touched: int = 0  # when it was last written, by the writer's time
    recorded: dict[int, str] = field(default_factory=dict)  # nominal -> key, of the calendar's runs
    gaps: list[Dropped] = field(default_factory=list)
    case: ScheduleState | None = None


@dataclass(slots=True)
class Replay:
    """The stories so far; `steps` tells them write by write."""

    stories: dict[str, Story] = field(default_factory=dict)
    calendars: dict[tuple[str, int], Calendar] = field(default_factory=dict)

    def steps(self, history: History) -> Iterator[tuple[Write, Story]]:
        """Each write with the story as it was before; the story takes it in afterwards."""
        for write in history.writes:
            identity = write.what.after.identity
            story = self.stories.setdefault(identity, Story(identity))
            yield write, story
            self._take_in(write, story)

    def _take_in(self, write: Write, story: Story) -> None:
        if isinstance(write.what, ScheduleUpdate):
            self._era(story, write.what, write.now)
        for _, run in write.runs:
            story.runs[run.key] = run
            if is_open(run):
                story.open[run.key] = run
            else:
                story.open.pop(run.key, None)
            if not run.trigger:
                story.recorded[run.nominal] = run.key
        story.touched = write.now
        if isinstance(write.what, RunUpdate):
            wakes = [wake for wake in (story.wake, write.what.next_check_at) if wake is not None]
            story.wake = min(wakes, default=None)
            return
        story.wake = write.what.after.next_check_at
        if write.what.gap:
            self._gap(story, write.what, write.now)

    def _era(self, story: Story, settlement: ScheduleUpdate, now: int) -> None:
        before, after = story.case, settlement.after
        story.case = after
        last = story.eras[-1] if story.eras else None
        fresh = (
            last is None
            or before is None
            or (after.revision, after.effective_from) != (before.revision, before.effective_from)
        )
        if fresh:
            if last and last.ended is None:
                awoke = settlement.action and before and settlement.action.at == before.paused_until
                last.ended, last.idle = after.effective_from if awoke else now, bool(before and before.is_inactive)
                last.resumed = bool(before and after.revision == before.revision)
                last.dropped = bool(before and before.paused) or last.resumed
            job = after.job
            calendar = self.calendars.setdefault((job.identity, after.revision), Calendar(job))
            era = Era(
                calendar,
                after.revision,
                after.effective_from,
                after.cursor,
                now,
                idle=after.is_inactive,
                first=last is None,
            )
            story.eras.append(era)
            if last and before and not before.deleted:
                new = {run.nominal for run in settlement.new if not run.trigger and run.reason is not Reason.SUPERSEDED}
                _hand_over(last, era, story.recorded.keys() | new, now, edited=after.revision != before.revision)
        elif last and after.deleted and last.ended is None:
            last.ended, last.idle = now, bool(before and before.is_inactive)
            last.dropped = bool(before and before.paused)
        elif last:
            last.idle = after.is_inactive

    def _gap(self, story: Story, settlement: ScheduleUpdate, now: int) -> None:
        """A gap belongs to the definition before the write: what it drops fell due under that."""
        gap, new = settlement.gap, {run.nominal for run in settlement.new if not run.trigger}
        assert gap and settlement.before
        old = settlement.before
        era = next(
            era for era in reversed(story.eras) if (era.revision, era.since) == (old.revision, old.effective_from)
        )
        handled = {nominal for nominal in story.recorded if nominal not in new}
        members = [n for n in era.calendar.between(gap.first - 1, gap.last) if n not in handled and era.answers_for(n)]
        story.gaps.append(Dropped(gap, members, now, era))


def _hand_over(old: Era, new: Era, handled: Collection[int], now: int, *, edited: bool) -> None:
    """What an edit at `now` leaves open goes to the new calendar, if it has it; a resumption leaves nothing."""
    new.carried = frozenset()
    if edited:
        near = [n for n in old.calendar.between(now // 1000 - REACH, now // 1000) if old.answers_for(n)]
        left = {n for n in near if n not in handled and old.calendar.at(n).due > now}
        new.carried = frozenset(left.intersection(new.calendar.between(now // 1000 - REACH, now // 1000)))
        old.lost = frozenset(left - new.carried)
