"""Parsers of what the plus dialect adds: the heads `at` and `every`, and the bodies of @days, @dst and @valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from kron.errors import clip
from kron.language.duration import UNITS, read_duration
from kron.language.fault import Fault
from kron.language.modifier_args import (
    DISTRIBUTION_NAMES,
    READERS,
    Parameters,
    Reader,
    read_arguments,
    read_choice,
    read_distribution,
    read_part,
)
from kron.language.moment import read_date, read_moment
from kron.language.quoting import split
from kron.language.tokens import Token
from kron.timing.schedule import Cron, Head
from kron.timing.schedule.days import MAX_EVERY, Days
from kron.timing.schedule.dst import AFTER_FIRST, ONCE, WALL, Dst, Fold, Gap
from kron.timing.schedule.head import MAX_INTERVAL, MAX_MOMENTS, Every, Moment, Moments
from kron.timing.schedule.sampling import Distribution
from kron.timing.schedule.terms import MAX_TIMES, Valid

_CADENCE = re.compile(r"([0-9]{1,9})([dw])")
_CALENDAR_INTERVAL = re.compile(r"([0-9]+)(d|w|days?|weeks?)")
_MOMENT_IN_TWO_WORDS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_UNIT_NAMES = {"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d", "week": "w"}
_NAMED_RULES = {"wall": WALL, "once": ONCE}


def read_moments(text: str, words: list[Token]) -> Moments:
    """Parse the head `at` with its moments."""
    if len(words) != 2:
        place = words[2] if len(words) > 2 else words[0]
        hint = "write at 2026-12-01T09:00, and several moments with commas, without spaces"
        if len(words) == 3 and _MOMENT_IN_TWO_WORDS.fullmatch(f"{words[1].text} {words[2].text}"):
            hint = f"write at {words[1].text}T{words[2].text}"
        raise Fault("BAD_MOMENT", "expected one list of moments after at", place.start, place.end, hint)
    moments, parts = set[Moment](), words[1].text.split(",")
    if len(parts) > MAX_MOMENTS:
        message = f"{len(parts)} moments are too many"
        raise Fault("TOO_LONG", message, words[1].start, words[1].end, f"list at most {MAX_MOMENTS}")
    start = words[1].start
    for part in parts:
        moment = read_part(read_moment, Token(part, start))
        if moment in moments:
            raise Fault("DUPLICATE_MOMENT", f"{part} is listed twice", start, start + len(part), "keep one of them")
        moments.add(moment)
        start += len(part) + 1
    return Moments(tuple(sorted(moments)))


def read_interval(text: str, words: list[Token]) -> Every:
    """Parse the head `every` with its interval and its anchor."""
    if len(words) < 2:
        hint = "write every 90m from 2026-01-01T00:00"
        raise Fault("BAD_DURATION", "the interval is missing", words[0].start, words[0].end, hint)
    seconds = read_part(_read_seconds, _interval_word(words))
    if len(words) < 4 or words[2].text != "from":
        hint = f"add the moment of the first run: every {clip(words[1].text)} from 2026-01-01T00:00"
        message = "an interval needs the moment from which it counts"
        raise Fault("NO_ANCHOR", message, words[1].end, max(words[-1].end, words[1].end + 1), hint)
    if len(words) > 4:
        raise Fault("BAD_MOMENT", "text after the moment", words[4].start, words[-1].end, "remove it")
    return Every(seconds, read_part(read_moment, words[3]))


def _interval_word(words: list[Token]) -> Token:
    """Return the interval. One that is written in two words, such as `10 seconds`, is refused."""
    unit = _UNIT_NAMES.get(words[2].text.rstrip("s")) if len(words) > 2 and words[1].text.isdigit() else None
    if unit is None:
        return words[1]
    interval = f"{clip(words[1].text)}{unit}"
    hint = f"write every {interval} from 2026-01-01T00:00"
    if unit in "dw":
        hint = f"count days on the calendar: 0 9 * * * @days(every={interval},from=2026-01-05)"
    raise Fault("BAD_DURATION", "the interval is two words", words[1].start, words[2].end, hint)


def _read_seconds(text: str) -> int:
    calendar = _CALENDAR_INTERVAL.fullmatch(text)
    if calendar:
        interval = f"{calendar[1]}{calendar[2][0]}"
        hint = f"count days on the calendar: 0 9 * * * @days(every={interval},from=2026-01-05)"
        raise Fault("BAD_DURATION", "every counts elapsed time in h, m and s", 0, len(text), hint)
    seconds, rest = divmod(read_duration(text), UNITS["s"])
    if rest or not 1 <= seconds <= MAX_INTERVAL:
        hint = f"write whole seconds, from 1s to {MAX_INTERVAL // 3600}h"
        raise Fault("BAD_DURATION", f"{clip(text)!r} is not an interval", 0, len(text), hint)
    return seconds


def read_days(body: str) -> Days:
    """Parse the body of @days."""
    arguments = read_arguments(split(body), _DAYS, "@days")
    has_every, has_start = "every" in arguments, "start" in arguments
    if has_every and not has_start:
        raise Fault(
            "NO_ANCHOR", "every needs the date from which it counts", 0, len(body), f"write {body},from=2026-01-05"
        )
    if has_start and not has_every:
        raise Fault("BAD_PARAMETER", "from needs every", 0, len(body), f"write every=2w,{body}, or use @valid(from=…)")
    both = arguments.get("match", _Match.EITHER) is _Match.BOTH
    if not has_every:
        return Days(both=both)
    every, weeks = arguments["every"]
    return Days(both=both, every=every, weeks=weeks, start=arguments["start"])


class _Match(StrEnum):
    EITHER = "either"
    BOTH = "both"


def _read_cadence(text: str) -> tuple[int, bool]:
    match = _CADENCE.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= MAX_EVERY:
        hint = f"write days or weeks, from 1d to {MAX_EVERY}d or from 1w to {MAX_EVERY}w"
        raise Fault("BAD_PARAMETER", f"{clip(text)!r} is not a number of days or weeks", 0, max(len(text), 1), hint)
    return int(match[1]), match[2] == "w"


def read_dst(body: str, default: Dst = WALL) -> Dst:
    """Parse the body of @dst. A key that is not written keeps its value in `default`."""
    if body in _NAMED_RULES:
        return _NAMED_RULES[body]
    if "=" not in body:
        hint = "write wall, once, or gap=skip|after|shift and fold=both|first|last"
        if body.partition(",")[0] in DISTRIBUTION_NAMES:
            hint = f"did you mean '@dist({clip(body)})'?"
        raise Fault("BAD_PARAMETER", f"unknown rule for clock changes {clip(body)!r}", 0, len(body), hint)
    return replace(default, **read_arguments(split(body), _DST, "@dst"))


def dst_of(head: Head, body: str) -> Dst:
    """Return the rule for clock changes of a head that the body of @dst states, in the form that stores keep."""
    if isinstance(head, Cron):
        return read_dst(body)
    dst = read_dst(body, AFTER_FIRST)
    return AFTER_FIRST if dst == ONCE else dst  # a moment is a fixed time, so both rules mean the same


def _read_distribution(body: str) -> Distribution:
    """Parse the body of @dist. A rule for clock changes is a slip of one letter: @dst."""
    try:
        return read_distribution(body)
    except Fault as fault:
        if body in _NAMED_RULES or body.startswith(("gap=", "fold=")):
            fault.hint = f"did you mean '@dst({clip(body)})'?"
        raise


def read_valid(body: str) -> Valid:
    """Parse the body of @valid."""
    return Valid(**read_arguments(split(body), _VALID, "@valid"))


def _read_times(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 7 or not 1 <= int(text) <= MAX_TIMES:
        hint = f"write a number from 1 to {MAX_TIMES}"
        raise Fault("BAD_PARAMETER", f"{clip(text)!r} is not a number of periods", 0, max(len(text), 1), hint)
    return int(text)


_DAYS: Parameters = {
    "match": ("match", lambda text: read_choice("BAD_PARAMETER", "day rule", _Match, Token(text, 0))),
    "every": ("every", _read_cadence),
    "from": ("start", read_date),
}
_DST: Parameters = {
    "gap": ("gap", lambda text: read_choice("BAD_PARAMETER", "rule for gaps", Gap, Token(text, 0))),
    "fold": ("fold", lambda text: read_choice("BAD_PARAMETER", "rule for folds", Fold, Token(text, 0))),
}
_VALID: Parameters = {
    "from": ("start", read_moment),
    "until": ("until", read_moment),
    "times": ("times", _read_times),
}
PLUS_READERS: Mapping[str, Reader] = READERS | {
    "dist": _read_distribution,
    "days": read_days,
    "dst": read_dst,
    "valid": read_valid,
}
