"""When the periods of a job are, and when each is due: the checker's own walk, slow and plain."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from kron.timing.decision import decide
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import Period, periods
from kron.timing.schedule.policy import FirstPeriod
from kron.timing.schedule.sampling import draw
from kron.timing.zone import moment

AHEAD = 3600  # seconds walked at once
REACH = 3700  # seconds: no window or jitter of a scenario reaches further from its nominal time


@dataclass(frozen=True, slots=True)
class Opportunity:
    """A period: when it is due in milliseconds, whether it can run at all, and the ends of its window."""

    nominal: int
    due: int
    schedulable: bool
    first: int
    last: int


class Calendar:
    """The periods of one revision of a job, each worked out once."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.known: dict[int, Opportunity] = {}
        self.walked: list[int] = []
        self.start = self.upto = 0

    def between(self, after: int, upto: int) -> list[int]:
        """The nominal times later than `after` and not later than `upto`, within the validity of the job."""
        if not self.upto or after < self.start:
            self.start, self.upto, self.walked = after, after, []
        if upto > self.upto:
            self._walk(self.upto, upto + AHEAD)
        return self.walked[bisect_right(self.walked, after) : bisect_right(self.walked, upto)]

    def _walk(self, after: int, upto: int) -> None:
        self.upto = upto
        for period in periods(self.job.schedule, moment(after)):
            if period.nominal > upto:
                break
            if (self.job.start is None or period.nominal > self.job.start) and (
                self.job.end is None or period.nominal <= self.job.end
            ):
                self.walked.append(period.nominal)

    def at(self, nominal: int) -> Opportunity:
        """The period at that second."""
        if nominal not in self.known:
            self.known[nominal] = self._opportunity(nominal)
        return self.known[nominal]

    def _opportunity(self, nominal: int) -> Opportunity:
        jitter = self.job.schedule.policy.jitter // 1_000_000
        if jitter:
            u = draw(key_of(self.job.identity, nominal), 1)
            due = nominal * 1000 - jitter + int(u * (2 * jitter + 1))
            if self.job.start is not None:
                due = max(due, self.job.start * 1000)
            if self.job.end is not None:
                due = min(due, self.job.end * 1000)
            return Opportunity(nominal, due, True, nominal * 1000 - jitter, nominal * 1000 + jitter)
        decision = decide(self.job.schedule, Period(nominal), self.job.identity)
        first, last = (ns // 1_000_000 for ns in decision.window)
        if decision.chosen is None:
            return Opportunity(nominal, first, False, first, last)
        return Opportunity(nominal, decision.chosen * 1000, True, first, last)

    def answers_for(self, nominal: int, since: int) -> bool:
        """Whether a revision in force since then (milliseconds) answers for that period."""
        match self.job.schedule.policy.first_period:
            case FirstPeriod.CHOSEN:
                return self.at(nominal).due >= since // 1000 * 1000
            case FirstPeriod.AFTER:
                return nominal * 1000 > since
            case FirstPeriod.CURRENT_MINUTE:
                return nominal >= since // 60_000 * 60
