"""Parser of sentences into schedules, with days counted as cron counts them or, on request, exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from kron.errors import InvalidSchedule, clip
from kron.language.fault import Fault
from kron.language.options import Counting, Options
from kron.language.sentences import github, grammar
from kron.language.sentences.grammar import Sentence
from kron.language.sentences.interval import Fixed
from kron.language.sentences.placeholder import Fortnightly
from kron.language.sentences.scatter import scatter, seed_of
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.days import DayCron, Days
from kron.timing.zone import UTC_ZONE, Zone

_FIRST_SUNDAY = 3  # 1970-01-04, by day number


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a sentence into the schedule of the identity in the options."""
    return replace(read(text, options.identity, options.cadence, options.zone), policy=options.policy)


def read(text: str, identity: str, cadence: Counting = "cron", zone: Zone = UTC_ZONE) -> Schedule:
    """Parse a sentence into the schedule of one identity."""
    if zone != UTC_ZONE:
        hint = "write the offset into the sentence, such as daily around 9am utc+2"
        raise InvalidSchedule("SENTENCE_ZONE", f"sentences are always in UTC, not in {clip(zone.name)}", hint=hint)
    if cadence not in get_args(Counting):
        raise InvalidSchedule("UNKNOWN_CADENCE", f"unknown cadence {clip(str(cadence))!r}", hint="use cron or exact")
    sentence = grammar.read(text)
    cron = github.read(scatter(sentence, identity).cron)
    return Schedule(exact_cron(sentence, cron, identity) if cadence == "exact" else cron)


def read_sentence(text: str) -> Sentence:
    """Parse a sentence without an identity.

    Raises:
        LanguageError: The text is not a valid sentence.
    """
    try:
        return grammar.read(text)
    except Fault as fault:
        raise fault.within(text) from None


def exact_cron(sentence: Sentence, cron: Cron, identity: str) -> Cron:
    """Return the same times of day every N days, counted across months. The identity selects the first day."""
    match sentence.plan:
        case Fortnightly() as plan:
            return _counted_cadence(cron, plan.days, seed_of(identity) % plan.days)
        case Fixed(_, days, weeks) if days:
            return _counted_cadence(cron, days, seed_of(identity) % days)
        case Fixed(_, _, weeks) if weeks:  # always on Sundays
            return _counted_cadence(cron, 7 * weeks, 7 * (seed_of(identity) % weeks) + _FIRST_SUNDAY)
        case _:
            return cron


def _counted_cadence(cron: Cron, every: int, phase: int) -> Cron:
    """Return the same times of day every `every` days. `phase` is the first day after 1970-01-01."""
    if every == 1:
        return Cron(cron.minutes, cron.hours)
    return DayCron(cron.minutes, cron.hours, rule=Days(every=every, start=phase))
