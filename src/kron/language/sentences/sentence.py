"""Sentence + identity -> Schedule, its days counted as cron counts them or, if asked for, exactly."""

from __future__ import annotations

from typing import Literal, get_args

from kron.core.schedule import Schedule
from kron.core.schedule.cadence import Cadence
from kron.core.schedule.cron import Cron
from kron.core.zone import UTC_ZONE, Zone
from kron.errors import KronError, clip
from kron.language.fault import Fault
from kron.language.sentences import fuzzy, github
from kron.language.sentences.fuzzy import Sentence
from kron.language.sentences.interval import Fixed
from kron.language.sentences.placeholder import Fortnightly
from kron.language.sentences.scatter import scatter, seed_of

Counting = Literal["cron", "exact"]

_SUNDAY = 3  # 1970-01-04, by day number


def read(text: str, identity: str, cadence: Counting = "cron", zone: Zone = UTC_ZONE) -> Schedule:
    """The schedule of a sentence for one identity."""
    if zone != UTC_ZONE:
        hint = "write the offset into the sentence, such as daily around 9am utc+2"
        raise KronError("SENTENCE_ZONE", f"sentences are read in UTC, not in {clip(zone.name)}", hint=hint)
    if cadence not in get_args(Counting):
        raise KronError("UNKNOWN_CADENCE", f"there is no cadence {clip(str(cadence))!r}", hint="it is cron or exact")
    sentence = fuzzy.read(text)
    cron = github.read(scatter(sentence, identity).cron)
    return Schedule(exactly(sentence, cron, identity) if cadence == "exact" else cron)


def read_sentence(text: str) -> Sentence:
    """What a text asks for, before anyone's identity has placed it."""
    try:
        return fuzzy.read(text)
    except Fault as fault:
        raise fault.within(text) from None


def exactly(sentence: Sentence, cron: Cron, identity: str) -> Cron:
    """The same times of day, every so many days without regard to months; the identity chooses the first day."""
    match sentence.plan:
        case Fortnightly() as plan:
            return _counted(cron, plan.days, seed_of(identity) % plan.days)
        case Fixed(_, days, weeks) if days:
            return _counted(cron, days, seed_of(identity) % days)
        case Fixed(_, _, weeks) if weeks:  # which are on Sundays
            return _counted(cron, 7 * weeks, 7 * (seed_of(identity) % weeks) + _SUNDAY)
        case _:
            return cron


def _counted(cron: Cron, every: int, phase: int) -> Cadence:
    return Cadence(cron.minutes, cron.hours, every=every, phase=phase)
