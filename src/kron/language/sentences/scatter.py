"""Scattering: placeholder and identifier -> one cron line that never changes.

The hash is FNV-1a over the identifier alone. Every compiled line depends on it, so it must never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from kron.errors import InvalidSchedule, Place
from kron.language.lint import Finding
from kron.language.sentences import github
from kron.language.sentences.clocktime import DAY
from kron.language.sentences.grammar import Sentence
from kron.language.sentences.interval import Fixed
from kron.language.sentences.minutes import Kept, avoid_hour_boundary, place
from kron.language.sentences.placeholder import (
    Daily,
    Fortnightly,
    Hourly,
    Placeholder,
    Stretch,
    Weekly,
    write_placeholder,
)
from kron.language.sentences.pool import POOL
from kron.language.sentences.sentence_errors import tables

BASIS = 2_166_136_261
PRIME = 16_777_619
SEEDS = 1 << 32

Hash = Callable[[bytes], int]


@dataclass(frozen=True, slots=True)
class Scattered:
    """Cron line of a sentence, how it was computed, and findings. A fixed interval has no seed."""

    cron: str
    seed: int | None = None
    why: str = "the same for every identifier"
    findings: tuple[Finding, ...] = ()


def fnv1a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = BASIS
    for byte in data:
        value = (value ^ byte) * PRIME % SEEDS
    return value


def workflow_identifier(repository: str, path: str) -> str:
    """Return the identifier of a workflow: `owner/repo` and the path from the root of the repository."""
    return f"{repository}/{path}"


def seed_of(identifier: str, hasher: Hash = fnv1a) -> int:
    """Return the seed of an identifier. There is no default and no randomness: an identifier is required.

    Raises:
        InvalidSchedule: The identifier is empty, or the seed is not a 32-bit number.
    """
    if not identifier:
        hint = "name the workflow as owner/repo/path/to/workflow.md"
        message, details = "the identifier is empty", tables("EMPTY_IDENTIFIER")
        raise InvalidSchedule("EMPTY_IDENTIFIER", message, hint=hint, details=details)
    try:
        seed = hasher(identifier.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise _bad_seed("the identifier has an unpaired surrogate") from None
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < SEEDS:
        raise _bad_seed(f"the hash gave {str(seed)[:20]!r}")
    return seed


def _bad_seed(reason: str) -> InvalidSchedule:
    hint = "derive a whole number from 0 to 4294967295 from the identifier"
    message, details = f"no seed can be derived: {reason}", tables("INVALID_SEED")
    return InvalidSchedule("INVALID_SEED", message, hint=hint, details=details)


def draw(seed: int, window: int) -> int:
    """Return the minute of a window that the seed selects, counted from 0.

    Raises:
        InvalidSchedule: The window is not 1 to 1440 minutes long.
    """
    if not 1 <= window <= DAY:
        hint = f"use a window of 1 to {DAY} minutes"
        raise InvalidSchedule("INVALID_WINDOW", f"window of {window} minutes is out of range", hint=hint)
    return seed % window


def scatter(sentence: Sentence, identifier: str, hasher: Hash = fnv1a) -> Scattered:
    """Return the cron line of a sentence for one identifier. A fixed interval needs no identifier."""
    if isinstance(sentence.plan, Fixed):
        return Scattered(_checked(sentence.plan.cron), findings=sentence.findings)
    found = resolve(sentence.plan, identifier, hasher)
    narrow = tuple(_said_of(finding, sentence.text) for finding in found.findings)
    return Scattered(found.cron, found.seed, found.why, (*sentence.findings, *narrow))


def resolve(plan: Placeholder, identifier: str, hasher: Hash = fnv1a) -> Scattered:
    """Return the cron line of a placeholder for one identifier."""
    seed = seed_of(identifier, hasher)
    match plan:
        case Hourly(every, workdays):
            minute = avoid_hour_boundary(seed % 60)
            hours, days = f"*/{every}" if every else "*", "1-5" if workdays else "*"
            return Scattered(_checked(f"{minute} {hours} * * {days}"), seed, f"{seed} % 60 = {seed % 60}")
        case Fortnightly():
            hour, minute = POOL[seed % len(POOL)]
            return Scattered(_checked(f"{minute} {hour} */{plan.days} * *"), seed, _slot(seed))
        case Daily(stretch, workdays):
            minute, findings, why = _minute(seed, stretch, plan)
            return Scattered(_line(minute, _workdays(workdays, minute // DAY)), seed, why, findings)
        case Weekly(day, stretch):
            minute, findings, why = _minute(seed, stretch, plan)
            weekday = (seed % 7 if day is None else day) + minute // DAY
            return Scattered(_line(minute, str(weekday % 7)), seed, why, findings)


def _minute(seed: int, stretch: Stretch | None, plan: Placeholder) -> tuple[int, tuple[Finding, ...], str]:
    """Return the minute, counted from midnight of the requested day, so it is negative on the day before."""
    if stretch is None:
        hour, minute = POOL[seed % len(POOL)]
        return hour * 60 + minute, (), _slot(seed)
    raw = stretch.first + draw(seed, stretch.size)
    minute, kept = place(raw, stretch.first, stretch.last)
    why = f"{seed} % {stretch.size} = {seed % stretch.size}, so {_clock(raw)}"
    why += f", moved to {_clock(minute)}" if minute != raw else ""
    return minute, tuple(_narrow(kept, plan)), why


def _slot(seed: int) -> str:
    hour, minute = POOL[seed % len(POOL)]
    return f"{seed} % {len(POOL)} = {seed % len(POOL)}, the slot {hour:02d}:{minute:02d}"


def _clock(minute: int) -> str:
    return f"{minute % DAY // 60:02d}:{minute % 60:02d}"


def _line(minute: int, days: str) -> str:
    hour, minute = divmod(minute % DAY, 60)
    return _checked(f"{minute} {hour} * * {days}")


def _workdays(first: int | None, carry: int) -> str:
    """Return the weekday field of five days from the first on. It can wrap around the end of the week."""
    if first is None:
        return "*"
    first = (first + carry) % 7
    return f"{first}-{first + 4}" if first <= 2 else f"0-{first - 3},{first}-6".replace("0-0", "0").replace("6-6", "6")


@lru_cache(4_096)
def _checked(line: str) -> str:
    """Check the line with the usual parser and the rules of GitHub, and return it."""
    github.read(line)
    return line


def _narrow(kept: Kept, plan: Placeholder) -> list[Finding]:
    if kept is Kept.ALL:
        return []
    text = write_placeholder(plan)
    lost = "peak minutes" if kept is Kept.HOUR else "minutes near the full hour"
    message = f"the window has no minute that avoids the {lost}; staying in the window has priority"
    return [Finding("warning", "NARROW_WINDOW", message, Place(text, 0, len(text)), "widen the window")]


def _said_of(finding: Finding, text: str) -> Finding:
    place_in_text = Place(text, 0, len(text))
    return Finding(finding.level, finding.code, finding.message, place_in_text, finding.hint)
