"""What stands in the parentheses of the modifiers, and what it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from kron.core.policy import Overlap
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
from kron.core.schedule.window import Mode, Window
from kron.core.zone import Zone, zone, zone_names
from kron.errors import clip, did_you_mean
from kron.language.clauses import read_clauses
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.language.quoting import split, unquote
from kron.language.words import Token

Reader = Callable[[str], Any]
Choice = TypeVar("Choice", bound=StrEnum)
Parameters = dict[str, tuple[str, Reader]]  # by key: the argument's name, and what reads its value

CONCURRENCY = {"allow": Overlap.ALLOW, "forbid": Overlap.SKIP, "replace": Overlap.REPLACE}  # as @policy calls them
_FLOAT = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def read_zone(name: str) -> Zone:
    """The zone of @tz."""
    try:
        return zone(name)
    except LookupError:
        if not zone_names():
            message, hint = (
                f"this system has no tz database to find {clip(name)!r} in",
                "install one: pip install tzdata",
            )
            raise Fault("UNKNOWN_ZONE", message, 0, len(name), hint) from None
        said = name.strip("\"'")
        hint = did_you_mean(said, _zones_of(min(len(said), 64)), "use a name of the tz database, such as Europe/Paris")
        raise Fault("UNKNOWN_ZONE", f"there is no time zone {clip(name)!r}", 0, len(name), hint) from None


@cache
def _zones_of(length: int) -> list[str]:
    """The zones whose names are about as long: a file may have a thousand names to be looked for.

    Of those without a region only UTC is proposed: PST is one letter from EST, and three hours.
    """
    proposed = (name for name in zone_names() if "/" in name or name == "UTC")
    return sorted(name for name in proposed if abs(len(name) - length) < 2)


def read_window(body: str) -> Window:
    """The window of @win."""
    mode, *rest = islice(split(body), 3)
    found = _choice("UNKNOWN_MODE", "window mode", Mode, mode)
    if len(rest) != 1:
        raise Fault("BAD_WINDOW", "a window is a mode and a duration", 0, len(body), f"write {mode.text},2h")
    return Window(found, _part(read_duration, rest[0]))


def read_distribution(body: str) -> Distribution:
    """The distribution of @dist."""
    parts = split(body)
    name = next(parts)
    if name.text not in _DISTRIBUTIONS:
        raise _unknown("UNKNOWN_DISTRIBUTION", "distribution", _DISTRIBUTIONS, name)
    make, parameters = _DISTRIBUTIONS[name.text]
    return make(**_pairs(parts, parameters, f"the distribution {name.text}"))


def read_seed(body: str) -> Seed:
    """The seed strategy of @seed."""
    parts = split(body)
    strategy = _choice("UNKNOWN_STRATEGY", "seed strategy", Strategy, next(parts))
    return Seed(strategy, **_pairs(parts, {"salt": ("salt", unquote)}, "the seed"))


def read_policy(body: str) -> dict[str, Any]:
    """The fields of a Policy that @policy sets, and no other: what it does not name is left to who reads the text."""
    return _pairs(split(body), _POLICY, "the policy")


def _pairs(words: Iterable[Token], parameters: Parameters, owner: str) -> dict[str, Any]:
    """The `key=value` words as arguments."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.text.partition("=")
        if not equals or key not in parameters:
            raise _no_parameter(word, parameters, owner)
        name, reader = parameters[key]
        if name in found:
            raise Fault("DUPLICATE_PARAMETER", f"{key} is given twice", word.start, word.end, "keep one of them")
        found[name] = _part(reader, Token(value, word.start + len(key) + 1))
    return found


def _no_parameter(word: Token, parameters: Parameters, owner: str) -> Fault:
    key = word.text.partition("=")[0]
    allowed = f"{owner} takes {', '.join(f'{p}=…' for p in parameters) or 'no parameters'}"
    if not word.text:
        return Fault("BAD_PARAMETER", "a parameter is empty", word.start, word.start + 1, f"drop the comma; {allowed}")
    if key not in parameters:
        hint = did_you_mean(key, parameters, allowed)
        return Fault("UNKNOWN_PARAMETER", f"{owner} has no {clip(key)!r}", word.start, word.start + len(key), hint)
    return Fault("BAD_PARAMETER", f"{key} has no value", word.start, word.end, f"write {key}=…")


def _part(reader: Reader, word: Token) -> Any:
    try:
        return reader(word.text)
    except Fault as fault:
        raise fault.moved(word.start) from None


def _choice(code: str, what: str, choices: type[Choice], word: Token) -> Choice:
    """The choice that a word names."""
    if word.text not in tuple(choices):
        raise _unknown(code, what, choices, word)
    return choices(word.text)


def _unknown(code: str, what: str, known: Iterable[str], word: Token) -> Fault:
    known = list(known)
    hint = did_you_mean(word.text, known, f"write {', '.join(known[:-1])} or {known[-1]}")
    return Fault(code, f"there is no {what} {clip(word.text)!r}", word.start, word.end, hint)


def _one_of(choices: type[StrEnum], what: str) -> Reader:
    return lambda text: _choice("BAD_PARAMETER", what, choices, Token(text, 0))


def _overlap(text: str) -> Overlap:
    if text not in CONCURRENCY:
        raise _unknown("BAD_PARAMETER", "concurrency", CONCURRENCY, Token(text, 0))
    return CONCURRENCY[text]


def _positive(text: str) -> float:
    if not _FLOAT.fullmatch(text) or not 0 < float(text) < float("inf"):
        message = f"{clip(text)!r} is not a number above 0"
        raise Fault("BAD_PARAMETER", message, 0, len(text), "write a number such as 2.5")
    return float(text)


def _sigma(text: str) -> int:
    sigma = read_duration(text)
    if sigma == 0:
        raise Fault("BAD_PARAMETER", "sigma must be longer than 0", 0, len(text), "write a duration such as 20m")
    return sigma


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise Fault("BAD_PARAMETER", f"{clip(text)!r} is neither true nor false", 0, len(text), "write true or false")
    return text == "true"


_DISTRIBUTIONS: dict[str, tuple[Callable[..., Distribution], Parameters]] = {
    "uniform": (Uniform, {}),
    "normal": (Normal, {"mu": ("mu", _one_of(Anchor, "anchor")), "sigma": ("sigma", _sigma)}),
    "skewEarly": (SkewEarly, {"shape": ("shape", _positive)}),
    "skewLate": (SkewLate, {"shape": ("shape", _positive)}),
    "exponential": (Exponential, {"lambda": ("decay", _positive), "dir": ("lean", _one_of(Lean, "direction"))}),
}
_POLICY: Parameters = {
    "concurrency": ("overlap", _overlap),
    "deadline": ("deadline", read_duration),
    "suspend": ("suspend", _truth),
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
