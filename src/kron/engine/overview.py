"""Overview: questions about many schedules at once, each answered by a key, an index or a counter.

The dashboard and the HTTP API ask them. None reads a table that grows with the number of schedules or runs, and none
counts rows. A scope is the part of the identities up to the first slash, with it; an empty scope stands for all
schedules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from kron.engine.calendar_index import CalendarIndex
from kron.engine.name_index import NameIndex
from kron.rules.action import ScheduleAction
from kron.rules.calendar_facts import CalendarFacts
from kron.rules.gap_record import GapRecord
from kron.rules.load import Load, LoadHour
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.update import Revision

MAX_NEXT = 200  # schedules that `next_checks` returns
TROUBLE = frozenset(  # ends that deserve attention; a success does not
    {
        State.FAILED,
        State.LOST,
        State.UNKNOWN,
        State.MISSED,
        State.SKIPPED,
        State.UNSCHEDULABLE,
        State.CANCELLED,
    }
)


FINE_MINUTES = 2 * 24 * 60  # minutes for which outcomes are kept by the minute, and not by the quarter of an hour


def merged_before(now: int) -> int:
    """Return the minute since 1970 before which minutes are merged to quarters of an hour; `now` is in milliseconds."""
    return (now // 60_000 - FINE_MINUTES) // 15 * 15


class TimeRange(NamedTuple):
    """Range of time in intervals: seconds, multiples of 60. The end is not included."""

    first: int
    last: int
    step: int


class OutcomeCount(NamedTuple):
    """How many periods that were due in an interval ended in one way."""

    start: int  # seconds: when the interval begins
    state: State
    reason: Reason | None
    periods: int


class WorkerRecord(NamedTuple):
    """Registered worker, with times in milliseconds."""

    owner: str
    joined: int
    renewed: int  # last renewal of its lease
    until: int  # end of its lease
    kinds: frozenset[str]
    tz: str


class RecentPeriods(NamedTuple):
    """Newest records of a schedule, newest first."""

    runs: tuple[Run, ...]
    gaps: tuple[GapRecord, ...]


class DayAnswer(NamedTuple):
    """Answers to three questions about the schedules of a scope."""

    outcomes: list[OutcomeCount]
    load: Load
    facts: CalendarFacts | None  # None: no pass has written them


ActivityPosition = tuple[int, str, bool, int]  # as in `Activity`


class Activity(NamedTuple):
    """Something that a person or Kron did to a schedule: a revision or an action."""

    at: int  # milliseconds
    identity: str
    is_action: bool  # otherwise a revision
    number: int
    change: Revision | ScheduleAction

    @property
    def position(self) -> ActivityPosition:
        """Position in the order of `Overview.activity`."""
        return self.at, self.identity, self.is_action, self.number


RequestPlace = tuple[str, int]  # identity of a schedule, and when runs of it were requested, in milliseconds
MAX_REQUESTS = 10  # requests of one place that are returned


def kinds_of_trouble(states: Collection[State]) -> list[str]:
    """Return the kinds by which stores index runs that ended in those states. A dead letter is a kind of its own."""
    return sorted({state.value for state in states} | ({"dead"} if State.FAILED in states else set()))


class ActivityOverview(Protocol):
    """What people and Kron did to the schedules in a store."""

    async def activity(self, scope: str, limit: int, before: ActivityPosition | None = None) -> list[Activity]:
        """Return the latest revisions and actions, latest first; with `before`, only those after that position."""

    async def requests(self, places: Sequence[RequestPlace]) -> dict[RequestPlace, list[ScheduleAction]]:
        """Return the requests for runs of schedules at those times, a few of each. Places without one are missing.

        A requested run was recorded together with its request: its schedule and `Run.created` are the place.
        """

    async def pauses(self, scope: str, limit: int) -> dict[str, ScheduleAction | None]:
        """Return the first paused schedules in order, each with the action that paused it; None if it is not known."""


class Overview(ActivityOverview, Protocol):
    """Overview of the schedules in a store.

    Attributes:
        names: Index of the names; None if the store has none.
        calendar: Calendar facts of each scope.
    """

    names: NameIndex | None
    calendar: CalendarIndex

    async def outcomes(self, scope: str, first: int, last: int, step: int) -> list[OutcomeCount]:
        """Return how many periods ended in which way, by the time at which they were due.

        Args:
            scope: Scope of the schedules.
            first: Begin of the time and of the first interval in seconds, a multiple of 60.
            last: End of the time in seconds, not included.
            step: Length of an interval in seconds, a multiple of 60. Minutes older than two days are kept as quarters
                of an hour.
        """

    async def running(self, scope: str, limit: int) -> list[Run]:
        """Return runs that their targets have accepted and that have not ended, the oldest attempt first."""

    async def troubled_runs(
        self, scope: str, states: Collection[State], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return ended runs that are in one of those states of TROUBLE, latest end first.

        Args:
            scope: Scope of the schedules.
            states: The states.
            limit: Maximum number of runs.
            before: End (milliseconds) and key of a run: only runs after it in this order are returned.
        """

    async def troubled_schedules(self, scope: str, state: State, after: str, limit: int) -> list[str]:
        """Return a page of identities, in order, of schedules whose last period ended in that state of TROUBLE."""

    async def paused(self, scope: str, after: str, limit: int) -> list[str]:
        """Return a page of identities, in order, of paused schedules."""

    async def next_checks(self, scope: str, limit: int, upto: int | None = None) -> list[str]:
        """Return schedules in the order in which workers check them next; with `upto` (milliseconds), until then.

        Schedules that are due and wait come first. At most MAX_NEXT are returned.
        """

    async def recent(self, identities: Sequence[str], limit: int) -> dict[str, RecentPeriods]:
        """Return the newest records of each schedule: at most `limit` scheduled runs and as many gap records."""

    async def latest_runs(
        self, identities: Sequence[str], limit: int, before: tuple[int, str] | None = None
    ) -> list[Run]:
        """Return the newest runs of some schedules together, newest period first, with those that have not ended.

        Args:
            identities: The schedules.
            limit: Maximum number of runs.
            before: Nominal time (seconds) and key of a run: only runs after it in this order are returned.
        """

    async def runs_between(self, identity: str, first: int, last: int, limit: int) -> list[Run]:
        """Return the newest runs of one schedule with nominal times from `first` to `last` (seconds, both included).

        Newest first, scheduled and requested runs. Schedules that do not exist have none.
        """

    async def load(self, scope: str, first: int, last: int, step: int) -> Load:
        """Return how many runs are due, as the last pass of a worker counted them.

        Args:
            scope: Scope of the schedules.
            first: Begin of the time in seconds, a multiple of 60.
            last: End of the time in seconds, not included.
            step: Length of an interval in seconds, a multiple of 60.
        """

    async def day(self, scope: str, past: TimeRange, coming: TimeRange) -> DayAnswer:
        """Return `outcomes` of one range of time, `load` of another, and the calendar facts, in one question."""

    async def write_load(self, hours: Sequence[LoadHour]) -> None:
        """Write hours, and replace those that exist."""

    async def remove_load(self, before: int, limit: int) -> int:
        """Remove up to `limit` hours that were written before that time (milliseconds). Returns how many."""

    async def workers(self) -> list[WorkerRecord]:
        """Return the registered workers, also those whose lease has ended recently."""
