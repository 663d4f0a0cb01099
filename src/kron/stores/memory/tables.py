"""Tables of the in-memory store: records by schedule identity or run key."""

from __future__ import annotations

from kron.rules.action import ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.gap_record import GapRecord
from kron.rules.load import LoadHour
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import Revision


class Tables:
    """All tables as dictionaries."""

    def __init__(self) -> None:
        self.cases: dict[str, ScheduleState] = {}
        self.ordered: list[str] = []  # sorted identities of `cases`, as of the last call of `identities`
        self.ledger: dict[str, dict[str, Run]] = {}  # identity -> key -> run
        self.open: dict[str, dict[str, Run]] = {}  # the open runs of `ledger`
        self.owner_of: dict[str, str] = {}  # key -> identity
        self.names: dict[str, str] = {}  # key -> the target's own run id
        self.tried: dict[str, dict[int, Attempt]] = {}  # key -> slot -> attempt
        self.dropped: dict[str, list[GapRecord]] = {}
        self.history: dict[str, tuple[Revision, ...]] = {}
        self.recorded_actions: dict[str, list[ScheduleAction]] = {}
        self.last_states: dict[str, State] = {}  # identity -> how its last period ended
        self.load: dict[tuple[str, int], LoadHour] = {}  # scope and hour -> runs that are due
        self.ahead: dict[str, set[int]] = {}  # identity -> handled periods beyond its cursor
