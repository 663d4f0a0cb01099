"""Parsers of the bodies of modifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache, lru_cache
from itertools import islice
from typing import Any, TypeVar

from kron.errors import clip, did_you_mean
from kron.language.constraints import read_clauses
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.language.quoting import split, unquote
from kron.language.tokens import Token
from kron.language.zone_hint import zone_hint
from kron.timing.schedule.policy import Overlap
from kron.timing.schedule.sampling import (
    Anchor,
    Direction,
    Distribution,
    Exponential,
    Normal,
    Seed,
    SkewEarly,
    SkewLate,
    Strategy,
    Uniform,
)
from kron.timing.schedule.window import Mode, Window
from kron.timing.zone import Zone, zone, zone_names

Reader = Callable[[str], Any]
Choice = TypeVar("Choice", bound=StrEnum)
Parameters = dict[str, tuple[str, Reader]]  # by key: the argument's name, and the parser of its value

CONCURRENCY = {"allow": Overlap.ALLOW, "forbid": Overlap.SKIP, "replace": Overlap.REPLACE}  # by the names of @policy
_MAX_ZONE_NAME = 64  # characters: no zone has a longer name, so nothing is similar to one
_FLOAT = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def read_zone(name: str) -> Zone:
    """Parse the body of @tz."""
    try:
        return zone(name)
    except LookupError:
        if not zone_names():
            message, hint = (
                f"time zone {clip(name)!r} cannot be resolved: this system has no tz database",
                "install a tz database: pip install tzdata",
            )
            raise Fault("UNKNOWN_ZONE", message, 0, len(name), hint) from None
        hint = _unknown_zone_hint(name.strip("\"'")[:_MAX_ZONE_NAME])
        raise Fault("UNKNOWN_ZONE", f"unknown time zone {clip(name)!r}", 0, len(name), hint) from None


@lru_cache(1024)
def _unknown_zone_hint(name: str) -> str:
    """Return what to write instead. Cached, because the dialects that are tried in turn all ask for it."""
    names = _similar_zone_names(len(name))
    return zone_hint(name) or did_you_mean(name, names, "use a name of the tz database, such as Europe/Paris")


@cache
def _similar_zone_names(length: int) -> list[str]:
    """Return the zone names of about this length. Cached, because a file can have a thousand unknown names.

    Of the names without a region, only UTC is proposed: PST differs from EST by one letter, but by three hours.
    """
    proposed = (name for name in zone_names() if "/" in name or name == "UTC")
    return sorted(name for name in proposed if abs(len(name) - length) < 2)


def read_window(body: str) -> Window:
    """Parse the body of @win."""
    mode_word, *rest = islice(split(body), 3)
    mode = read_choice("UNKNOWN_MODE", "window mode", Mode, mode_word)
    if len(rest) != 1:
        raise Fault("BAD_WINDOW", "expected a window mode and a duration", 0, len(body), f"write {mode_word.text},2h")
    return Window(mode, read_part(read_duration, rest[0]))


def read_distribution(body: str) -> Distribution:
    """Parse the body of @dist."""
    parts = split(body)
    name = next(parts)
    if name.text not in _DISTRIBUTIONS:
        raise unknown_choice("UNKNOWN_DISTRIBUTION", "distribution", _DISTRIBUTIONS, name)
    distribution_class, parameters = _DISTRIBUTIONS[name.text]
    return distribution_class(**read_arguments(parts, parameters, f"the distribution {name.text}"))


def read_seed(body: str) -> Seed:
    """Parse the body of @seed."""
    parts = split(body)
    strategy = read_choice("UNKNOWN_STRATEGY", "seed strategy", Strategy, next(parts))
    return Seed(strategy, **read_arguments(parts, {"salt": ("salt", unquote)}, "the seed"))


def read_policy(body: str) -> dict[str, Any]:
    """Parse the body of @policy. Returns only the Policy fields that it sets; the caller decides the others."""
    return read_arguments(split(body), _POLICY, "the policy")


def read_arguments(words: Iterable[Token], parameters: Parameters, owner: str) -> dict[str, Any]:
    """Parse `key=value` words into arguments."""
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.text.partition("=")
        if not equals or key not in parameters:
            raise _invalid_parameter(word, parameters, owner)
        name, reader = parameters[key]
        if name in arguments:
            raise Fault("DUPLICATE_PARAMETER", f"duplicate parameter {key}", word.start, word.end, "keep one of them")
        arguments[name] = read_part(reader, Token(value, word.start + len(key) + 1))
    return arguments


def _invalid_parameter(word: Token, parameters: Parameters, owner: str) -> Fault:
    key = word.text.partition("=")[0]
    allowed = f"{owner} takes {', '.join(f'{p}=…' for p in parameters) or 'no parameters'}"
    if not word.text:
        return Fault("BAD_PARAMETER", "empty parameter", word.start, word.start + 1, f"remove the comma; {allowed}")
    if key not in parameters:
        hint = did_you_mean(key, parameters, allowed)
        return Fault("UNKNOWN_PARAMETER", f"{owner} has no {clip(key)!r}", word.start, word.start + len(key), hint)
    return Fault("BAD_PARAMETER", f"parameter {key} has no value", word.start, word.end, f"write {key}=…")


def read_part(reader: Reader, word: Token) -> Any:
    """Parse a part of a body; a fault gets its position in the body."""
    try:
        return reader(word.text)
    except Fault as fault:
        raise fault.moved(word.start) from None


def read_choice(code: str, noun: str, choices: type[Choice], word: Token) -> Choice:
    """Return the choice that a word names."""
    if word.text not in tuple(choices):
        raise unknown_choice(code, noun, choices, word)
    return choices(word.text)


def unknown_choice(code: str, noun: str, known: Iterable[str], word: Token) -> Fault:
    """Return the fault of a word that is none of the known ones."""
    known = list(known)
    hint = did_you_mean(word.text, known, f"use {', '.join(known[:-1])} or {known[-1]}")
    return Fault(code, f"unknown {noun} {clip(word.text)!r}", word.start, word.end, hint)


def _choice_reader(choices: type[StrEnum], noun: str) -> Reader:
    return lambda text: read_choice("BAD_PARAMETER", noun, choices, Token(text, 0))


def _read_overlap(text: str) -> Overlap:
    if text not in CONCURRENCY:
        raise unknown_choice("BAD_PARAMETER", "concurrency", CONCURRENCY, Token(text, 0))
    return CONCURRENCY[text]


def _read_positive(text: str) -> float:
    if not _FLOAT.fullmatch(text) or not 0 < float(text) < float("inf"):
        message = f"{clip(text)!r} is not a number greater than 0"
        raise Fault("BAD_PARAMETER", message, 0, len(text), "write a number such as 2.5")
    return float(text)


def _read_sigma(text: str) -> int:
    sigma = read_duration(text)
    if sigma == 0:
        raise Fault("BAD_PARAMETER", "sigma must be longer than 0", 0, len(text), "write a duration such as 20m")
    return sigma


def _read_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise Fault("BAD_PARAMETER", f"{clip(text)!r} is neither true nor false", 0, len(text), "write true or false")
    return text == "true"


_DISTRIBUTIONS: dict[str, tuple[Callable[..., Distribution], Parameters]] = {
    "uniform": (Uniform, {}),
    "normal": (Normal, {"mu": ("mu", _choice_reader(Anchor, "anchor")), "sigma": ("sigma", _read_sigma)}),
    "skewEarly": (SkewEarly, {"shape": ("shape", _read_positive)}),
    "skewLate": (SkewLate, {"shape": ("shape", _read_positive)}),
    "exponential": (
        Exponential,
        {"lambda": ("decay", _read_positive), "dir": ("lean", _choice_reader(Direction, "direction"))},
    ),
}
DISTRIBUTION_NAMES = tuple(_DISTRIBUTIONS)
_POLICY: Parameters = {
    "concurrency": ("overlap", _read_overlap),
    "deadline": ("deadline", read_duration),
    "suspend": ("suspend", _read_boolean),
}
READERS: dict[str, Reader] = {
    "tz": read_zone,
    "win": read_window,
    "dist": read_distribution,
    "seed": read_seed,
    "policy": read_policy,
    "avoid": read_clauses,
    "only": read_clauses,
}
