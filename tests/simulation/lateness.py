"""Lateness and downtime: what is missed for want of a worker, held against an observer of the workers."""

from __future__ import annotations

from collections.abc import Iterator

from kron.engine.fleet import kind_of
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.timing.schedule.policy import Catchup, FirstPeriod
from tests.simulation.history import Write
from tests.simulation.records import ASLEEP
from tests.simulation.replay import Story
from tests.simulation.world import Result

FOR_WANT = {Reason.CATCHUP_NONE, Reason.REPLAY_BOUND, Reason.ENDED}


class Downtimes:
    """Which periods fell due while a worker was well that could launch them, and which surely did not."""

    def __init__(self, result: Result) -> None:
        self.health, self.setting = result.history.health, result.setting
        self.lease = result.setting.tick * 5 // 2 / 1000
        self.known = not (result.setting.wild or result.setting.lossy)

    def of_write(self, write: Write, story: Story) -> Iterator[str]:
        """The misses that nothing but Kron has caused, and the starts that a downtime should have made misses."""
        if not self.known or not isinstance(write.what, ScheduleUpdate) or story.case is None:
            return
        if story.case.policy.first_period is FirstPeriod.CURRENT_MINUTE:
            return  # of a task, however many were missed, one runs
        kind, policy = kind_of(story.case.job.target), story.case.policy
        gap = write.what.gap
        if gap and (gap.reason in FOR_WANT or gap.reason is Reason.COALESCED):
            for nominal in (gap.first, gap.last):
                due = story.eras[-1].calendar.at(nominal).due
                if self._well(kind, due):
                    yield f"a gap for {gap.reason} though a worker was well: {story.identity} {nominal}"
        for run in write.what.new:
            if run.trigger or not story.eras:
                continue
            about = f"{run.identity} {run.nominal} ({run.key[:8]})"
            newest = policy.catchup is Catchup.LATEST and run.reason is Reason.COALESCED and not self._queued(write)
            if (run.reason in FOR_WANT or newest) and self._well(kind, run.due):
                yield f"missed for {run.reason} though a worker was well: {about}"
            if policy.catchup is Catchup.NONE and self._late(write, story, run) and self._down(kind, run.due, write):
                yield f"not missed, though no worker was well until now: {about} {run.state} {run.reason}"

    def _queued(self, write: Write) -> bool:
        """Whether it gave way to a newer one in the queue, and not for its lateness."""
        assert isinstance(write.what, ScheduleUpdate)
        return str(write.what.after.policy.overlap) == "coalesce"

    def _late(self, write: Write, story: Story, run: Run) -> bool:
        policy = story.eras[-1].policy
        late = (write.now - run.due - 3 * self.setting.tick - 20_000) * 1_000_000
        ended = run.outcome is Outcome.MISSED or run.state is State.UNSCHEDULABLE
        asleep = run.reason in ASLEEP  # as in a gap: a pause comes before a downtime
        return not ended and not asleep and late >= max(policy.resolution, policy.grace, 1)

    def _at(self, due: int) -> float:
        return due / 1000 - self.setting.start

    def _well(self, kind: str, due: int) -> bool:
        """Whether one was well all the time, and for so long after that it has said so: every third of its lease."""
        begin = self._at(due) - 2 * self.lease - 10
        return begin > 0 and self.health.well(kind, begin, self._at(due) + self.lease)

    def _down(self, kind: str, due: int, write: Write) -> bool:
        """Whether no worker was well until shortly before this write, and since then none but the one that wrote.

        Another that was back for some time, and died before it came to this period, makes the downtime before it
        forgotten: what fell due then runs, though the policy would let it be missed.
        """
        begin, end = max(0.0, self._at(due) - self.lease - 10), write.at - 3 * self.setting.tick / 1000 - 20
        if begin == 0 or self._at(due) + 10 >= end:
            return False
        return self.health.down(kind, begin, end) and self.health.down(kind, end, write.at, write.who)
