"""Parsers and writers of schedule texts. The caller always names the dialect; Kron never guesses it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from kron.errors import InvalidSchedule, clip, did_you_mean
from kron.language import kron, posix, service
from kron.language.fault import Fault
from kron.language.modifier_args import read_zone
from kron.language.service import Seconds
from kron.language.tokens import check_text
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.zone import UTC_ZONE, Zone

DIALECTS = ("posix", "service", "kron", "fuzzy", "plus")


def parse(
    text: str,
    *,
    dialect: str,
    timezone: str = "UTC",
    seconds: Seconds = "first",
    identity: str = "",
    cadence: Literal["cron", "exact"] = "cron",
    policy: Policy = KRON,
    stored: bool = False,
) -> Schedule:
    """Parse a schedule text.

    Args:
        text: The text.
        dialect: `posix`, `service`, `kron`, `plus` or `fuzzy`.
        timezone: Time zone of a text that names none. Sentences of the fuzzy dialect are always in UTC.
        seconds: Position of the seconds in the six fields of the service dialect.
        identity: Identity that selects the time of a sentence (fuzzy dialect).
        cadence: With `exact`, days and weeks of a sentence are counted across the ends of months.
        policy: Policy of the schedule. Each key of @policy replaces that field only.
        stored: Whether the text comes from a store or a record, so that a newer tz database cannot make it invalid.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The dialect or another option is invalid.
    """
    default_zone = UTC_ZONE if timezone == "UTC" else _read_zone(timezone)
    try:
        check_text(text)
        if dialect == "posix":
            return Schedule(posix.read(text), default_zone, policy=policy)
        if dialect == "service":
            return Schedule(service.read(text, seconds), default_zone, policy=policy)
        if dialect == "kron":
            return kron.read(text, default_zone, policy)
        if dialect == "plus":
            return _read_plus(text, default_zone, policy, stored)
        if dialect == "fuzzy":
            return replace(_read_sentence(text, identity, cadence, default_zone), policy=policy)
    except Fault as fault:
        raise fault.within(text) from None
    raise _unknown_dialect(dialect)


def _read_plus(text: str, zone: Zone, policy: Policy, stored: bool) -> Schedule:
    from kron.language import plus  # deferred: rarely needed

    return plus.read(text, zone, policy, stored=stored)


def _read_sentence(text: str, identity: str, cadence: Literal["cron", "exact"], zone: Zone) -> Schedule:
    from kron.language.sentences import read  # deferred: 20% of the import time, rarely needed

    return read.read(text, identity, cadence, zone)


def _unknown_dialect(dialect: str) -> InvalidSchedule:
    hint = did_you_mean(dialect, DIALECTS, f"use one of {', '.join(DIALECTS)}")
    return InvalidSchedule("UNKNOWN_DIALECT", f"unknown dialect {clip(dialect)!r}", hint=hint)


def _read_zone(name: str) -> Zone:
    try:
        return read_zone(name)
    except Fault as fault:
        raise fault.within(name) from None
