"""The oracle of traces: the rules of the document, checked on what was observed. It shares no code with the scheduler.

Whatever a crash leaves in doubt is kept in doubt: what a task *may* do and what it *must* do are two accounts. A start
that it may not make breaks a safety rule (S1 to S6); a start that it must make and does not, within `BOUND`, breaks
the liveness rule (L1).

Where the oracle is lenient, a clause of the document is the reason, and is named there:

  Atomicity    "All persistence override operations MUST be applied atomically": a crash during initialize() leaves the
               old state or the new one, and from outside nobody can tell which; both are allowed, neither is demanded.
  Orphan       "Was started by previous instance, but has not finished under it ... set to restart immediately": what
               counts is what was recorded, and a crash may come between a record and what is seen of it.
  Clock        "Use the host system's local clock as the authoritative time source": also when it is set back.
  Polling      "Specific polling interval timing (as long as all minutes are covered)", "Exact execution timing within
               the same minute" MAY vary, and R1 allows about a minute.
  Cycle        Active to Stopping: "complete current poll cycle".
  History      Overridden: "keep execution history (attempts, successes, failures)".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.embedded.calendar import dues_of, next_due
from tests.embedded.trace import Seen, Trace

BOUND = 62_500  # milliseconds: the next minute, and a second between polls (Polling)
JUST = 2_000  # a poll follows within that (Polling)
NEVER = float("inf")


@dataclass(slots=True)
class Task:
    """What is known of a task that is registered."""

    expression: str
    delay: int
    dues: list[int]
    first_seen: float
    may_from: float  # dues later than this may be answered,
    must_from: float  # and later than this must be
    may_retry: float = NEVER  # a retry may start from then on,
    must_retry: float = NEVER  # and must
    may_restart: bool = False  # it was going when the process died, or may have been (Orphan)
    must_restart: bool = False
    may_due: bool = False  # some due was reached and not answered; a clock set back does not undo that (Clock)
    must_due: bool = False  # the same, of an expression that is no longer in force (History)
    any_name: bool = False  # a crash may have come between the record of a start and the start (Orphan)
    running: bool = False
    ended: str = ""  # how the callback ended, before that is recorded
    ended_wall: float = 0.0
    owed_since: float | None = None
    held_until: float = -NEVER  # the clock was set back just when it was to start: it may wait until then (Clock)
    waiting: bool = False  # in AwaitingRetry
    succeeded_at: float | None = None  # the wall clock when the last recorded success had started
    started_wall: float = 0.0
    surely_seen: float = 0.0  # by then it had been seen first
    highest: float = -NEVER  # what the clock showed at most while it was registered
    preempted: bool = False


@dataclass(slots=True)
class Oracle:
    """Reads one trace to its end."""

    trace: Trace
    bound: float = BOUND
    tasks: dict[str, Task] = field(default_factory=dict)
    active: bool = False
    stopping_at: float | None = None
    initializing: tuple[list[tuple[str, str, int]], bool] | None = None
    doubtful: list[tuple[str, str, int]] | None = None  # a list whose initialization was cut off (Atomicity)
    doubtful_wall: float = 0.0
    asked_wall: float = 0.0
    muddled: bool = False  # two were cut off in a row, and any of three states is left (Atomicity)
    violations: list[str] = field(default_factory=list)

    def check(self) -> list[str]:
        """What is wrong with the trace."""
        seen = self.trace.seen
        for index, now in enumerate(seen):
            if index:
                self._pass(seen[index - 1], now)
            if now.what == "end":
                break
            getattr(self, "_" + now.what.replace(" ", "_"))(now)
        return self.violations

    def _wrong(self, rule: str, now: Seen, why: str) -> None:
        self.violations.append(f"{rule} at {now.at / 1000:.3f} s: {why}")

    # Time passes

    def _pass(self, before: Seen, now: Seen) -> None:
        """From one observation to the next the clock goes steadily, from what it showed after the first."""
        if not self.active:
            return
        jump = now.what == "jump"
        opening, closing = before.wall, before.wall + (now.at - before.at) if jump else now.wall
        back = jump and now.wall < closing
        for name, task in self.tasks.items():
            task.highest = max(task.highest, closing)
            due = next_due(task.dues, task.may_from)
            task.may_due = task.may_due or (due is not None and due <= closing)
            if task.running:
                continue
            begins = _owed_from(task, opening, closing)
            if begins is None:
                task.owed_since = None
            elif task.owed_since is None or begins > opening:
                task.owed_since = before.at + (begins - opening)
            if task.owed_since is not None and now.at - task.owed_since > self.bound:
                late = (now.at - task.owed_since) / 1000
                self._wrong("L1", now, f"{name} has been owed a start for {late:.1f} s")
                task.owed_since = now.at
            if back and task.owed_since is not None and now.at - task.owed_since < JUST:
                task.held_until, task.owed_since = closing, None

    # The life of the scheduler

    def _init(self, now: Seen) -> None:
        if self.initializing is not None:
            self._wrong("trace", now, "two initializations at once")
        self.initializing, self.asked_wall = now.about, now.wall

    def _init_ok(self, now: Seen) -> None:
        registrations, valid = self._asked()
        if not valid:
            self._wrong("S4", now, "an invalid list was accepted")
        if self.active:
            self._wrong("S6", now, "an initialization succeeded while another was in force")
        before = dict(self.tasks)
        self.tasks = {name: self._registered(before.get(name), name, e, d, now) for name, e, d in registrations}
        reached = now.wall if self.doubtful is None else max(now.wall, self.doubtful_wall)
        self.active, self.doubtful, self.muddled = self.stopping_at is None, None, False
        for task in self.tasks.values():
            task.highest = max(task.highest, reached)
            task.may_due = task.may_due or _due_between(task, task.may_from, now.wall)  # it may have been recorded

    def _init_failed(self, now: Seen) -> None:
        _, valid = self._asked()
        if valid:
            self._wrong("S5", now, "a valid list was refused")

    def _init_refused(self, now: Seen) -> None:
        if not self.active and self.initializing is None and self.stopping_at is None:
            self._wrong("S5", now, "refused as already active, and nothing is")

    def _asked(self) -> tuple[list[tuple[str, str, int]], bool]:
        asked, self.initializing = self.initializing, None
        assert asked is not None
        return asked

    def _registered(self, task: Task | None, name: str, expression: str, delay: int, now: Seen) -> Task:
        dues = dues_of(self.trace.date, self.trace.zone, expression)
        minute = now.wall // 60_000 * 60_000 - 1
        if self.muddled:
            reached = max(now.wall, self.doubtful_wall, task.highest if task else 0.0)
            unsure = Task(expression, delay, dues, -NEVER, -NEVER, reached, surely_seen=reached)
            self._doubt(unsure)
            unsure.may_retry, unsure.may_restart = -NEVER, True
            return unsure
        if task is None:
            asked = min(self.asked_wall, now.wall)  # the minute may have changed meanwhile: either is `now` (Polling)
            fresh = Task(expression, delay, dues, asked, asked // 60_000 * 60_000 - 1, minute, surely_seen=now.wall)
            earlier = [e for n, e, _ in self.doubtful or () if n == name]
            if earlier:
                self._doubt(fresh)  # it may have come earlier, by another clock, and with another expression
                fresh.first_seen = min(asked, self.doubtful_wall - 1_000)
                fresh.must_from = max(minute, self.doubtful_wall // 60_000 * 60_000 - 1)
                if earlier != [expression]:
                    fresh.must_from = max(now.wall, self.doubtful_wall)
                    fresh.may_due = True  # of that other expression
            return fresh
        self._redefined(task, name, expression, dues, now)
        if self.doubtful is not None and all(n != name for n, _, _ in self.doubtful):
            self._doubt(task)  # it may have been forgotten, and be new
            task.must_from = max(task.must_from, minute)
            task.must_restart, task.must_retry, task.must_due = False, NEVER, False
        task.delay = delay
        return task

    def _redefined(self, task: Task, name: str, expression: str, dues: list[int], now: Seen) -> None:
        other = next((e for n, e, _ in self.doubtful or () if n == name and e != task.expression), None)
        if other is not None:
            _overridden(task, expression, dues, min(self.doubtful_wall, now.wall))  # it may have been, then,
            task.may_due = True  # and again now
            task.must_from = task.must_from if other == expression else max(task.must_from, now.wall)
        elif task.expression != expression:
            _overridden(task, expression, dues, now.wall)

    def _doubt(self, task: Task) -> None:
        task.may_from, task.any_name = -NEVER, True

    def _stop(self, now: Seen) -> None:
        if self.stopping_at is None:
            self.stopping_at = now.at
            if self.active:
                self.active = False

    def _stopped(self, now: Seen) -> None:
        for name, task in self.tasks.items():
            if task.running:
                self._wrong("S3", now, f"{name} is still running")
            task.owed_since = None
        self.stopping_at = None

    def _crash(self, now: Seen) -> None:
        if self.initializing is not None:
            self.muddled = self.muddled or self.doubtful is not None
            self.doubtful, self.doubtful_wall = self.initializing[0], max(now.wall, self.doubtful_wall)
        self.initializing, self.stopping_at, self.active = None, None, False
        for task in self.tasks.values():
            task.any_name = True
            task.owed_since = None
            task.may_restart = task.may_restart or now.wall >= task.may_retry  # it may be claimed already (Orphan)
            if task.running:
                _orphaned(task)

    def _jump(self, now: Seen) -> None:
        pass

    # The life of a task

    def _start(self, now: Seen) -> None:
        name, attempt = now.about
        task = self._starting(name, now)
        if task is None:
            return
        due = _due_allowed(task, now.wall)
        if not due:
            self._wrong("S1", now, f"{name} started, and no due was pending")
        if task.waiting and not task.preempted and not task.any_name:
            self._wrong("event", now, f"{name} took the place of a retry without a TaskRetryPreempted")
        self._started(task, now, attempt)

    def _retry(self, now: Seen) -> None:
        name, attempt = now.about
        task = self._starting(name, now)
        if task is None:
            return
        allowed = (
            task.may_restart
            or max(now.wall, attempt) >= task.may_retry
            or (task.any_name and _due_allowed(task, now.wall))
        )
        if not allowed:
            self._wrong("S1", now, f"{name} was tried again, and no retry was pending")
        newer = next_due(task.dues, task.must_from)
        if newer is not None and newer <= attempt and not task.any_name:
            self._wrong("event", now, f"{name} was tried again, though a newer due supersedes the retry")
        self._started(task, now, attempt)

    def _starting(self, name: str, now: Seen) -> Task | None:
        task = self.tasks.get(name)
        if task is None:
            self._wrong("S1", now, f"{name} started, and is not registered")
            return None
        if task.running:
            self._wrong("serial", now, f"{name} started beside itself")
        finishing = self.stopping_at is not None and now.at - self.stopping_at <= 200  # the poll that is going (Cycle)
        if not self.active and not finishing:
            self._wrong("S1", now, f"{name} started, and the scheduler is not active")
        if task.succeeded_at is not None and not task.may_due and not _due_between(task, task.succeeded_at, now.wall):
            self._wrong("S2", now, f"{name} started again after a success, and no due lies between")
        return task

    def _started(self, task: Task, now: Seen, attempt: float) -> None:
        task.may_from = max(task.may_from, min(attempt, now.wall))
        task.must_from = max(task.must_from, now.wall, attempt, task.highest)  # it answers for all that was reached
        task.may_retry = task.must_retry = NEVER
        task.may_restart = task.must_restart = task.may_due = task.must_due = False
        task.any_name = task.waiting = task.preempted = False
        task.running, task.ended, task.owed_since = True, "", None
        task.started_wall = min(attempt, now.wall)
        task.succeeded_at = None

    def _preempted(self, now: Seen) -> None:
        task = self.tasks[now.about]
        if not task.waiting and not task.may_restart and not task.any_name:
            self._wrong("event", now, f"{now.about} has no retry that could be preempted")
        task.preempted = True

    def _returned(self, now: Seen) -> None:
        self._ended(now, "returned")

    def _raised(self, now: Seen) -> None:
        self._ended(now, "raised")

    def _ended(self, now: Seen, how: str) -> None:
        task = self.tasks[now.about]
        if not task.running or task.ended:
            self._wrong("trace", now, f"{now.about} ended, and was not running")
        task.ended, task.ended_wall = how, now.wall

    def _completed(self, now: Seen) -> None:
        task = self.tasks[now.about]
        if task.ended != "returned":
            self._wrong("event", now, f"{now.about} is called completed, and has not returned")
        task.running, task.ended = False, ""
        task.succeeded_at = task.started_wall

    def _failed(self, now: Seen) -> None:
        task = self.tasks[now.about]
        if task.ended != "raised":
            self._wrong("event", now, f"{now.about} is called failed, and has not raised")
        earliest, latest = sorted((task.ended_wall, now.wall))  # the clock may have been set in between
        task.may_retry, task.must_retry = earliest + task.delay - 1, latest + task.delay
        task.running, task.ended, task.waiting = False, "", True


def _due_allowed(task: Task, wall: float) -> bool:
    due = next_due(task.dues, task.may_from) if task.may_from > -NEVER else wall
    return task.may_due or task.must_due or (due is not None and due <= wall)


def _owed_from(task: Task, opening: float, closing: float) -> float | None:
    """From which reading of the clock on, between two, the task must start; None if it need not."""
    due = next_due(task.dues, task.must_from)
    first = min(NEVER if due is None else due, task.must_retry)
    first = max(-NEVER if task.must_restart or task.must_due else first, task.held_until)
    return max(first, opening) if first <= closing else None


def _due_between(task: Task, after: float, upto: float) -> bool:
    due = next_due(task.dues, after)
    return due is not None and due <= upto


def _overridden(task: Task, expression: str, dues: list[int], wall: float) -> None:
    """Another expression: what the old one owed is still owed, and the new one counts from the last start (History)."""
    old_may, old_must = next_due(task.dues, task.may_from), next_due(task.dues, task.must_from)
    task.may_due = task.may_due or (old_may is not None and old_may <= wall)
    task.must_due = task.must_due or (old_must is not None and old_must <= wall)
    latest = min(task.may_from, task.started_wall or task.may_from)  # which a clock set back may have put before others
    task.may_from = max(latest, task.first_seen)
    task.must_from = max(task.must_from, task.surely_seen)
    task.expression, task.dues = expression, dues
    task.succeeded_at = None


def _orphaned(task: Task) -> None:
    """It was going when the process died. If it had ended, nobody can tell whether that is recorded (Orphan)."""
    task.may_restart = True
    task.must_restart = task.ended == ""
    if task.ended == "raised":
        task.may_retry, task.must_retry = task.ended_wall + task.delay - 1, task.ended_wall + task.delay
    task.running, task.ended = False, ""
    task.waiting = False
