"""Options: how a text is read, in addition to its dialect."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kron.timing.schedule.policy import KRON, Policy
from kron.timing.zone import UTC_ZONE, Zone

Seconds = Literal["first", "last"]
Counting = Literal["cron", "exact"]
IDENTITY_HINT = "add --identity NAME, or identity=…"


class Options(NamedTuple):
    """Options of a reading. A dialect ignores those that it does not need.

    Attributes:
        zone: Time zone of a text that names none.
        policy: Policy of the schedule, unless the text has one.
        seconds: Position of the seconds in the six fields of the service dialect.
        identity: Identity of the job, for dialects whose times depend on it.
        cadence: How a sentence counts days and weeks.
        stored: Whether the text comes from a store or a record. Then a moment that the clocks skip or repeat is
            accepted, because a later tz database can have moved a clock change.
    """

    zone: Zone = UTC_ZONE
    policy: Policy = KRON
    seconds: Seconds = "first"
    identity: str = ""
    cadence: Counting = "cron"
    stored: bool = False
