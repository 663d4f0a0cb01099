"""After the faults: nothing stays open for ever, nothing waits for nobody, nothing on time is missed."""

from __future__ import annotations

from collections.abc import Iterator

from kron.rules.action import ActionKind
from kron.rules.outcome import Reason
from kron.rules.run import Run, overlap_of
from kron.rules.run_state import RUNNING, State
from kron.rules.update import ScheduleUpdate
from kron.timing.schedule.policy import Overlap
from tests.simulation.history import Write
from tests.simulation.replay import Story, active, is_open
from tests.simulation.world import Result

SETTLED = 240_000  # milliseconds after the last fault: by then the last frozen worker is awake


class Watch:
    """How long each run that was ready waited, once the world was calm."""

    def __init__(self, result: Result) -> None:
        self.since = result.calm_from + SETTLED
        self.patience = result.setting.tick + 5_000
        self.lives = result.history.health.lives.values()
        self.free: dict[str, int] = {}  # since when no other run stands in the way of the schedule's next run
        self.edited: dict[str, int] = {}  # when a request last changed the schedule
        self.resumed: dict[str, int] = {}  # when its last pause ended, if one ever did

    def of_write(self, write: Write, story: Story) -> Iterator[str]:
        """The delays and misses that this write shows."""
        for before, run in write.runs:
            if write.now > self.since:
                yield from self._of_run(write, story, before, run)
        self._note(write, story)

    def _of_run(self, write: Write, story: Story, before: Run | None, run: Run) -> Iterator[str]:
        about = f"{run.identity} {run.nominal}{run.trigger} ({run.key[:8]})"
        calm = max(self.since, self.resumed.get(run.identity, 0))
        late = run.reason in (Reason.DEADLINE, Reason.CATCHUP_NONE) and run.due > calm and not is_open(run)
        if late and not self._handed_over(write, run.due):
            yield f"missed for {run.reason} though all was calm: {about}, {write.now - run.due} ms"
        if run.state is not State.LAUNCHING or (before is not None and before.state is State.LAUNCHING):
            return
        ready = max(run.due, run.not_before, self.edited.get(run.identity, 0), run.created)
        policy = story.case.policy if story.case else None
        if (
            policy is None or policy.overlap_limit or overlap_of(run, policy) is not Overlap.ALLOW
        ):  # a backfill has its own
            ready = max(ready, self.free.get(run.identity, 0))
        if any(was is not None and active(was) and not active(now) for was, now in write.runs):
            ready = max(ready, write.now)  # what stood in its way ends with this very write
        if before is not None and before.state in RUNNING:
            ready = max(ready, before.lease or 0)
        patience = (
            self.patience * 2 if self._handed_over(write, ready) else self.patience
        )  # of one, and then of another
        if ready > self.since and write.now - ready > patience:
            yield f"waited {write.now - ready} ms for nobody: {about}"

    def _handed_over(self, write: Write, due: int) -> bool:
        """Whether a worker left or came meanwhile: within a tick, each of the others looks where it should."""
        begin = write.at - (write.now - due + self.patience) / 1000  # by the world's own time: clocks were set since
        return any(begin < moment < write.at for life in self.lives for moment in (life.born, life.died))

    def _note(self, write: Write, story: Story) -> None:
        """Whatever changes what may start resets the watch."""
        moved = any(before is None or before.state is not run.state for before, run in write.runs)
        act = write.what.action if isinstance(write.what, ScheduleUpdate) else None
        if act and act.kind is ActionKind.RESUMED:
            self.resumed[story.identity] = act.at
        if isinstance(write.what, ScheduleUpdate) and (write.what.revision is not None or act is not None):
            self.edited[story.identity] = write.now
        if moved:
            self.free[story.identity] = write.now


def of_end(result: Result, stories: dict[str, Story]) -> Iterator[str]:
    """What is still open at the end, and should not be."""
    slack = 60_000 + result.setting.tick
    for story in stories.values():
        case = story.case
        if case is None:
            continue
        open_runs = [run for run in story.runs.values() if is_open(run)]
        busy = [run for run in open_runs if active(run)]
        just_now = result.shown - result.setting.tick - 5_000
        stirred = any(run.changed > just_now for run in story.runs.values())  # and nobody need have looked since
        for run in open_runs:
            about = f"{run.identity} {run.nominal}{run.trigger} ({run.key[:8]}) {run.state}"
            if run.state in (State.PENDING, State.WAITING):
                if case.is_inactive or run.not_before > result.shown - slack or run.changed > result.shown - slack:
                    continue
                is_free = overlap_of(run, case.policy) is Overlap.ALLOW and case.policy.overlap_limit is None
                if not stirred and (not busy or is_free):
                    yield f"waits for nobody: {about}"
            elif (run.lease or run.not_before) < result.shown - slack:
                yield f"open for ever: {about}"
        if not case.is_inactive and case.next_check_at is None and open_runs:
            yield f"never looked at again: {story.identity}"
