"""Kron's own dialect: cron, then @tz @win @dist @seed @policy @avoid @only in any order."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from kron.core.policy import Overlap, Policy
from kron.core.schedule import Schedule
from kron.core.schedule.chance import (
    Anchor,
    Distribution,
    Exponential,
    Lean,
    Normal,
    Seed,
    SkewEarly,
    SkewLate,
    Strategy,
    Uniform,
)
from kron.core.schedule.constraint import Constraints
from kron.core.schedule.cron import possible
from kron.core.schedule.window import Mode, Window
from kron.core.zone import Zone, zone, zone_names
from kron.errors import clip, did_you_mean
from kron.language.clauses import read_clauses
from kron.language.duration import read_duration
from kron.language.extended import baseline
from kron.language.fields import Fault, Token, tokens
from kron.language.quoting import body_end, split, unquote

_NAME = re.compile(r"@([A-Za-z]*)")
_FLOAT = re.compile(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")

NAMES = ("tz", "win", "dist", "seed", "policy", "avoid", "only")


class Concurrency(StrEnum):
    """What @policy calls the ways to treat an overlap."""

    ALLOW = "allow"
    FORBID = "forbid"
    REPLACE = "replace"


class Modifier(NamedTuple):
    """`@name(body)` and where it stood."""

    name: str
    body: Token
    start: int
    end: int


def read(text: str, default_zone: Zone) -> Schedule:
    """The schedule of a text in Kron's own dialect."""
    cron_part, found = scan(text)
    parts = {modifier.name: _value(modifier) for modifier in found}
    return assemble(cron_part, {"tz": default_zone, **parts})


def assemble(cron_text: str, parts: dict[str, Any]) -> Schedule:
    """The schedule of a cron text and of what its modifiers stand for, by their names."""
    cron = baseline(cron_text)
    if not possible(cron):
        raise _never(tokens(cron_text))
    if "only" in parts or "avoid" in parts:
        parts["constraints"] = Constraints(parts.pop("only", None), parts.pop("avoid", None))
    return Schedule(cron, **{_FIELDS.get(name, name): value for name, value in parts.items()})


def _never(fields: list[Token]) -> Fault:
    message, hint = (
        "no month has such a day, so this would never run",
        "choose a day that one of the months has",
    )
    details: dict[str, object] = {"field": "day", "reason": "never occurs"}
    return Fault("NEVER", message, fields[2].start, fields[3].end, hint, details)


def scan(text: str) -> tuple[str, list[Modifier]]:
    """The cron part of a text and its modifiers, none of them read yet."""
    if "@" not in text:
        return text, []
    at = next((w.start for w in tokens(text)[1:] if w.text.startswith("@")), len(text))
    cron_part, found = text[:at], list[Modifier]()
    while at < len(text):
        if text[at] in " \t":
            at += 1
            continue
        modifier = _modifier(text, at)
        if any(modifier.name == other.name for other in found):
            raise Fault("DUPLICATE_MODIFIER", f"@{modifier.name} is given twice", at, modifier.end, "keep one of them")
        found.append(modifier)
        at = modifier.end
    return cron_part, found


def _modifier(text: str, at: int) -> Modifier:
    match = _NAME.match(text, at)
    if not match:
        word = tokens(text[at:])[0]
        hint = "modifiers come last; a value with spaces wants double quotes"
        raise Fault("NOT_A_MODIFIER", f"{clip(word.text)!r} is not a modifier", at, at + len(word.text), hint)
    name, opening = match[1], match.end()
    if name not in NAMES:
        hint = did_you_mean(name, NAMES, f"the modifiers are {', '.join('@' + n for n in NAMES)}")
        raise Fault("UNKNOWN_MODIFIER", f"there is no modifier @{clip(name)}", at, max(opening, at + 1), hint)
    if text[opening : opening + 1] != "(":
        raise Fault("MALFORMED_MODIFIER", f"@{name} has no parentheses", at, opening, f"write @{name}(…)")
    closing = body_end(text, opening + 1)
    if text[closing + 1 : closing + 2] not in ("", " ", "\t"):
        hint = "put a space between modifiers"
        raise Fault("MALFORMED_MODIFIER", f"something follows @{name}(…) directly", closing + 1, closing + 2, hint)
    if closing == opening + 1:
        raise Fault("EMPTY_MODIFIER", f"@{name}() is empty", at, closing + 1, f"say what, or drop @{name}()")
    return Modifier(name, Token(text[opening + 1 : closing], opening + 1), at, closing + 1)


def _value(modifier: Modifier) -> Any:
    read_body = _cached if len(modifier.body.text) <= 256 else _cached.__wrapped__
    try:
        return read_body(modifier.name, modifier.body.text)
    except Fault as fault:
        raise fault.moved(modifier.body.start) from None


@lru_cache(4_096)
def _cached(name: str, body: str) -> Any:
    return READERS[name](body)


def read_zone(name: str) -> Zone:
    """The zone of @tz."""
    try:
        return zone(name)
    except LookupError:
        hint = did_you_mean(name, sorted(_zone_names()), "use a name of the tz database, such as Europe/Paris")
        raise Fault("UNKNOWN_ZONE", f"there is no time zone {clip(name)!r}", 0, len(name), hint) from None


@lru_cache(1)
def _zone_names() -> set[str]:
    return zone_names()


def read_window(body: str) -> Window:
    """The window of @win."""
    mode, *rest = split(body)
    if mode.text not in tuple(Mode):
        hint = did_you_mean(mode.text, Mode, "the modes are after and around")
        raise Fault("UNKNOWN_MODE", f"there is no window mode {clip(mode.text)!r}", mode.start, mode.end, hint)
    if len(rest) != 1:
        raise Fault("BAD_WINDOW", "a window is a mode and a duration", 0, len(body), "write @win(after,2h)")
    return Window(Mode(mode.text), _part(read_duration, rest[0]))


def read_distribution(body: str) -> Distribution:
    """The distribution of @dist."""
    name, *rest = split(body)
    make = _DISTRIBUTIONS.get(name.text)
    if make is None:
        hint = did_you_mean(name.text, _DISTRIBUTIONS, f"the distributions are {', '.join(_DISTRIBUTIONS)}")
        raise Fault(
            "UNKNOWN_DISTRIBUTION",
            f"there is no distribution {clip(name.text)!r}",
            name.start,
            name.end,
            hint,
        )
    kind, readers = make
    return kind(**_pairs(rest, readers, f"distribution {name.text}"))


def read_seed(body: str) -> Seed:
    """The seed strategy of @seed."""
    name, *rest = split(body)
    if name.text not in tuple(Strategy):
        hint = did_you_mean(name.text, Strategy, f"the strategies are {', '.join(Strategy)}")
        raise Fault("UNKNOWN_STRATEGY", f"there is no seed strategy {clip(name.text)!r}", name.start, name.end, hint)
    return Seed(Strategy(name.text), **_pairs(rest, {"salt": ("salt", unquote)}, "seed"))


def read_policy(body: str) -> Policy:
    """The policy of @policy."""
    return Policy(**_pairs(split(body), _POLICY, "policy"))


Reader = Callable[[str], Any]


def _pairs(words: list[Token], readers: dict[str, tuple[str, Reader]], owner: str) -> dict[str, Any]:
    """The `key=value` words as arguments, by the names that `readers` gives to the keys."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.text.partition("=")
        if not equals:
            hint = f"write {clip(key)}=…" if key in readers else "write key=value"
            raise Fault(
                "BAD_PARAMETER",
                f"{clip(key)!r} has no value",
                word.start,
                max(word.end, word.start + 1),
                hint,
            )
        if key not in readers:
            known = ", ".join(readers) or "none"
            hint = did_you_mean(key, readers, f"its parameters: {known}")
            raise Fault("UNKNOWN_PARAMETER", f"{owner} has no {clip(key)!r}", word.start, word.start + len(key), hint)
        name, reader = readers[key]
        if name in found:
            raise Fault("DUPLICATE_PARAMETER", f"{key} is given twice", word.start, word.end, "keep one of them")
        found[name] = _part(reader, Token(value, word.start + len(key) + 1))
    return found


def _part(reader: Reader, word: Token) -> Any:
    try:
        return reader(word.text)
    except Fault as fault:
        raise fault.moved(word.start) from None


def _positive(text: str) -> float:
    if not _FLOAT.fullmatch(text) or not 0 < float(text) < float("inf"):
        raise Fault(
            "BAD_PARAMETER",
            f"{clip(text)!r} is not a number above 0",
            0,
            len(text),
            "write a number such as 2.5",
        )
    return float(text)


def _sigma(text: str) -> int:
    sigma = read_duration(text)
    if sigma == 0:
        raise Fault("BAD_PARAMETER", "sigma must be longer than 0", 0, len(text), "write a duration such as 20m")
    return sigma


def _one_of(choices: Any) -> Reader:
    def reader(text: str) -> Any:
        if text not in tuple(choices):
            hint = did_you_mean(text, choices, f"one of: {', '.join(choices)}")
            raise Fault("BAD_PARAMETER", f"{clip(text)!r} is not one of the values", 0, len(text), hint)
        return choices(text)

    return reader


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise Fault("BAD_PARAMETER", f"{clip(text)!r} is neither true nor false", 0, len(text), "write true or false")
    return text == "true"


_DISTRIBUTIONS: dict[str, tuple[Callable[..., Distribution], dict[str, tuple[str, Reader]]]] = {
    "uniform": (Uniform, {}),
    "normal": (Normal, {"mu": ("mu", _one_of(Anchor)), "sigma": ("sigma", _sigma)}),
    "skewEarly": (SkewEarly, {"shape": ("shape", _positive)}),
    "skewLate": (SkewLate, {"shape": ("shape", _positive)}),
    "exponential": (Exponential, {"lambda": ("decay", _positive), "dir": ("lean", _one_of(Lean))}),
}
_OVERLAP = {Concurrency.ALLOW: Overlap.ALLOW, Concurrency.FORBID: Overlap.SKIP, Concurrency.REPLACE: Overlap.REPLACE}
_POLICY: dict[str, tuple[str, Reader]] = {
    "concurrency": ("overlap", lambda text: _OVERLAP[_one_of(Concurrency)(text)]),
    "deadline": ("deadline", read_duration),
    "suspend": ("suspend", _truth),
}
_FIELDS = {"tz": "zone", "win": "window", "dist": "distribution"}
READERS: dict[str, Reader] = {
    "tz": read_zone,
    "win": read_window,
    "dist": read_distribution,
    "seed": read_seed,
    "policy": read_policy,
    "avoid": read_clauses,
    "only": read_clauses,
}
