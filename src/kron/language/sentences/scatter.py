"""Scattering: placeholder and identifier -> one cron line that never changes.

The hash is FNV-1a over the identifier alone. Every compiled line depends on it, so it must never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from kron.errors import InvalidSchedule, Place
from kron.language.finding import Finding
from kron.language.sentences import github
from kron.language.sentences.clocktime import DAY
from kron.language.sentences.grammar import Sentence
from kron.language.sentences.interval import Fixed
from kron.language.sentences.minutes import SatisfiedRules, avoid_hour_boundary, place
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
from kron.language.sentences.sentence_errors import code_details

FNV_BASIS = 2_166_136_261
FNV_PRIME = 16_777_619
SEED_COUNT = 1 << 32

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
    value = FNV_BASIS
    for byte in data:
        value = (value ^ byte) * FNV_PRIME % SEED_COUNT
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
        message, details = "the identifier is empty", code_details("EMPTY_IDENTIFIER")
        raise InvalidSchedule("EMPTY_IDENTIFIER", message, hint=hint, details=details)
    try:
        seed = hasher(identifier.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise _seed_fault("the identifier has an unpaired surrogate") from None
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < SEED_COUNT:
        raise _seed_fault(f"the hash gave {str(seed)[:20]!r}")
    return seed


def _seed_fault(reason: str) -> InvalidSchedule:
    hint = "derive a whole number from 0 to 4294967295 from the identifier"
    message, details = f"no seed can be derived: {reason}", code_details("INVALID_SEED")
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
        return Scattered(_checked_line(sentence.plan.cron), findings=sentence.findings)
    scattered = resolve(sentence.plan, identifier, hasher)
    narrow_findings = tuple(_place_finding(finding, sentence.text) for finding in scattered.findings)
    return Scattered(scattered.cron, scattered.seed, scattered.why, (*sentence.findings, *narrow_findings))


def resolve(plan: Placeholder, identifier: str, hasher: Hash = fnv1a) -> Scattered:
    """Return the cron line of a placeholder for one identifier."""
    seed = seed_of(identifier, hasher)
    match plan:
        case Hourly(every, workdays):
            minute = avoid_hour_boundary(seed % 60)
            hours, days = f"*/{every}" if every else "*", "1-5" if workdays else "*"
            return Scattered(_checked_line(f"{minute} {hours} * * {days}"), seed, f"{seed} % 60 = {seed % 60}")
        case Fortnightly():
            hour, minute = POOL[seed % len(POOL)]
            return Scattered(_checked_line(f"{minute} {hour} */{plan.days} * *"), seed, _describe_slot(seed))
        case Daily(stretch, workdays):
            minute, findings, why = _choose_minute(seed, stretch, plan)
            return Scattered(_write_line(minute, _write_workdays(workdays, minute // DAY)), seed, why, findings)
        case Weekly(day, stretch):
            minute, findings, why = _choose_minute(seed, stretch, plan)
            weekday = (seed % 7 if day is None else day) + minute // DAY
            return Scattered(_write_line(minute, str(weekday % 7)), seed, why, findings)


def _choose_minute(seed: int, stretch: Stretch | None, plan: Placeholder) -> tuple[int, tuple[Finding, ...], str]:
    """Return the minute, counted from midnight of the requested day, so it is negative on the day before."""
    if stretch is None:
        hour, minute = POOL[seed % len(POOL)]
        return hour * 60 + minute, (), _describe_slot(seed)
    drawn = stretch.first + draw(seed, stretch.size)
    minute, rules = place(drawn, stretch.first, stretch.last)
    why = f"{seed} % {stretch.size} = {seed % stretch.size}, so {_write_clock(drawn)}"
    why += f", moved to {_write_clock(minute)}" if minute != drawn else ""
    return minute, tuple(_find_narrow_window(rules, plan)), why


def _describe_slot(seed: int) -> str:
    hour, minute = POOL[seed % len(POOL)]
    return f"{seed} % {len(POOL)} = {seed % len(POOL)}, the slot {hour:02d}:{minute:02d}"


def _write_clock(minute: int) -> str:
    return f"{minute % DAY // 60:02d}:{minute % 60:02d}"


def _write_line(minute: int, days: str) -> str:
    hour, minute = divmod(minute % DAY, 60)
    return _checked_line(f"{minute} {hour} * * {days}")


def _write_workdays(first: int | None, carry: int) -> str:
    """Return the weekday field of five days from the first on. It can wrap around the end of the week."""
    if first is None:
        return "*"
    first = (first + carry) % 7
    return f"{first}-{first + 4}" if first <= 2 else f"0-{first - 3},{first}-6".replace("0-0", "0").replace("6-6", "6")


@lru_cache(4_096)
def _checked_line(line: str) -> str:
    """Check the line with the usual parser and the rules of GitHub, and return it."""
    github.read(line)
    return line


def _find_narrow_window(rules: SatisfiedRules, plan: Placeholder) -> list[Finding]:
    if rules is SatisfiedRules.ALL:
        return []
    text = write_placeholder(plan)
    avoided_minutes = "peak minutes" if rules is SatisfiedRules.HOUR else "minutes near the full hour"
    message = f"the window has no minute that avoids the {avoided_minutes}; staying in the window has priority"
    return [Finding("warning", "NARROW_WINDOW", message, Place(text, 0, len(text)), "widen the window")]


def _place_finding(finding: Finding, text: str) -> Finding:
    place_in_text = Place(text, 0, len(text))
    return Finding(finding.level, finding.code, finding.message, place_in_text, finding.hint)
