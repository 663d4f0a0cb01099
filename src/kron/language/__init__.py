"""Text -> Schedule, and the way back. A dialect is always named, never guessed."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from kron.core.policy import KRON, Policy
from kron.core.schedule import Schedule
from kron.core.zone import UTC_ZONE, Zone
from kron.errors import KronError, clip, did_you_mean
from kron.language import extended, modifiers, posix
from kron.language.bodies import read_zone
from kron.language.extended import Seconds
from kron.language.fault import Fault
from kron.language.words import admit

DIALECTS = ("posix", "service", "kron", "fuzzy")


def parse(
    text: str,
    *,
    dialect: str,
    zone: str = "UTC",
    seconds: Seconds = "first",
    identity: str = "",
    cadence: Literal["cron", "exact"] = "cron",
    policy: Policy = KRON,
) -> Schedule:
    """The schedule that a text says in a dialect. `zone` is where it is read, unless it names one itself.

    `seconds` says which of six fields of the service dialect is the seconds. A sentence of the fuzzy
    dialect is placed by `identity`, and is in UTC; `cadence="exact"` makes its days and weeks count
    across the ends of months, which its cron line cannot. `policy` is the policy of the schedule; each key that
    @policy gives replaces that field of it, and no other.
    """
    home = UTC_ZONE if zone == "UTC" else _zone(zone)
    try:
        admit(text)
        if dialect == "posix":
            return Schedule(posix.read(text), home, policy=policy)
        if dialect == "service":
            return Schedule(extended.read(text, seconds), home, policy=policy)
        if dialect == "kron":
            return modifiers.read(text, home, policy)
        if dialect == "fuzzy":
            from kron.language.sentences import sentence  # here: it costs a fifth of the start, and most never say one

            return replace(sentence.read(text, identity, cadence, home), policy=policy)
    except Fault as fault:
        raise fault.within(text) from None
    hint = did_you_mean(dialect, DIALECTS, f"the dialects are {', '.join(DIALECTS)}")
    raise KronError("UNKNOWN_DIALECT", f"there is no dialect {clip(dialect)!r}", hint=hint)


def _zone(name: str) -> Zone:
    try:
        return read_zone(name)
    except Fault as fault:
        raise fault.within(name) from None
