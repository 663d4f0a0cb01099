"""Every schedule as the history tells it: its eras, its runs write by write, its gaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Reason
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


def taken_on(write: Write) -> list[Run]:
    """The periods of the calendar that a write records, and that are to be launched."""
    return [run for before, run in write.runs if before is None and not run.trigger and is_open(run)]


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
    last: tuple[int, int] | None = None  # due time and period of the last run that `max_runs` allowed, once it is made

    def answers_for(self, nominal: int) -> bool:
        """Whether the era owes that period."""
        if self.carried is None:  # and if its name was used before, its last life had what lay behind its cursor
            return (self.first or nominal > self.cursor) and self.calendar.answers_for(nominal, self.since)
        return nominal * 1000 > self.since or nominal in self.carried

    def is_over(self, nominal: int) -> bool:
        """Whether the schedule had had all of its runs when that period fell due, or when its turn came in a pass.

        A pass takes a bounded number of due periods, in the order of their nominal times.
        """
        last = self.last
        return last is not None and (nominal > last[1] or (self.calendar.at(nominal).due, nominal) > last)

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
    counted: int = 0  # scheduled runs that were recorded to be launched, under a policy with `max_runs`
    failures: int = 0  # failed runs in a row, of the present revision, under a policy with `pause_on_failure`
    failed_at: int = 0  # when the last of them failed

    def failures_after(self, write: Write) -> int:
        """How many runs have failed in a row after a write."""
        count, era = self.failures, self.eras[-1] if self.eras else None
        if era is None or era.policy.pause_on_failure is None:
            return count
        for _, run in write.runs:
            if run.revision == era.revision and not is_open(run):
                count = {"failed": count + 1, "success": 0}.get(str(run.state), count)
        return count

    def count(self, write: Write) -> None:
        """Count the runs and the ends of a write, under the definition before it."""
        if not self.eras:
            return
        era, failures = self.eras[-1], self.failures_after(write)
        self.failed_at = write.now if failures > self.failures else self.failed_at
        self.failures = failures
        if era.policy.max_runs is not None:
            for run in sorted(taken_on(write), key=lambda run: (run.due, run.nominal)):
                self.counted += 1
                if self.counted >= era.policy.max_runs:
                    era.last = run.due, run.nominal

    def recount(self, before: ScheduleState | None) -> None:
        """What the counters are after a change of the schedule itself."""
        after, era = self.case, self.eras[-1]
        if before is None or after is None:
            return
        if before.deleted and not after.deleted:
            self.counted = 0
        if after.revision != before.revision or (before.paused and not after.paused):
            self.failures = 0
        limit = era.policy.max_runs
        if era.last is None and limit is not None and self.counted >= limit:
            era.last = -1, -1  # it was over when it began


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
        story.count(write)
        if isinstance(write.what, ScheduleUpdate):
            before = story.case
            self._era(story, write.what, write.now)
            story.recount(before)
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
        near = [n for n in near if not old.is_over(n)]
        left = {n for n in near if n not in handled and old.calendar.at(n).due > now}
        new.carried = frozenset(left.intersection(new.calendar.between(now // 1000 - REACH, now // 1000)))
        old.lost = frozenset(left - new.carried)
