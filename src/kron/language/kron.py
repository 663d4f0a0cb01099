"""The kron dialect: five cron fields, then @tz @win @dist @seed @policy @avoid @only in any order."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from kron.errors import clip, nearest
from kron.language.fault import Fault
from kron.language.grammar import MODIFIERS
from kron.language.modifier_args import READERS
from kron.language.quoting import body_end
from kron.language.service import baseline
from kron.language.tokens import Token, strange, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import Constraints
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.zone import Zone

_FIRST = re.compile(r"[^ \t][ \t]+@")  # the first modifier, after other text
_NAME = re.compile(r"@([^\s()@]*)")
_FIELDS = {"tz": "zone", "win": "window", "dist": "distribution"}


class Modifier(NamedTuple):
    """Modifier `@name(body)` and its position in the text."""

    name: str
    body: Token
    start: int
    end: int


def read(text: str, home: Zone, policy: Policy = KRON) -> Schedule:
    """Parse a text in the kron dialect. `home` and `policy` apply unless the text has @tz or @policy."""
    cron_part, found = scan(text)
    cron = _cron(cron_part)
    if not found:
        return Schedule(cron, home, policy=policy)
    return _schedule(cron, {"tz": home} | {modifier.name: _value(modifier) for modifier in found}, policy)


def assemble(cron_text: str, parts: dict[str, Any]) -> Schedule:
    """Return the schedule of a cron text and of the parsed values of its modifiers, by modifier name."""
    return _schedule(_cron(cron_text), parts)


def _schedule(cron: Cron, parts: dict[str, Any], policy: Policy = KRON) -> Schedule:
    parts["policy"] = replace(policy, **parts["policy"]) if "policy" in parts else policy
    if "only" in parts or "avoid" in parts:
        parts["constraints"] = Constraints(parts.pop("only", None), parts.pop("avoid", None))
    return Schedule(cron, **{_FIELDS.get(name, name): value for name, value in parts.items()})


def _cron(text: str) -> Cron:
    cron = baseline(text)
    if not possible(cron):
        raise _never(tokens(text))
    return cron


def _never(fields: list[Token]) -> Fault:
    message, hint = "never runs: no selected month has such a day", "choose a day that one of the months has"
    details: dict[str, object] = {"field": "day", "reason": "never occurs"}
    return Fault("NEVER", message, fields[2].start, fields[3].end, hint, details)


def scan(text: str) -> tuple[str, list[Modifier]]:
    """Split a text into its cron fields and its modifiers, without parsing them."""
    first = _FIRST.search(text) if "@" in text else None
    if not first:
        return text, []
    at, found = first.end() - 1, list[Modifier]()
    cron_part = text[:at]
    while at < len(text):
        if text[at] in " \t":
            at += 1
            continue
        modifier = _modifier(text, at)
        if any(modifier.name == other.name for other in found):
            raise Fault("DUPLICATE_MODIFIER", f"duplicate modifier @{modifier.name}", at, modifier.end, "keep one")
        found.append(modifier)
        at = modifier.end
    return cron_part, found


def _modifier(text: str, at: int) -> Modifier:
    match = _NAME.match(text, at)
    if not match:
        raise _no_modifier(text, at)
    name, opening = match[1], match.end()
    if name not in MODIFIERS:
        close = nearest(name, MODIFIERS)
        hint = f"did you mean '@{close}'?" if close else f"use one of {', '.join('@' + n for n in MODIFIERS)}"
        raise Fault("UNKNOWN_MODIFIER", f"unknown modifier {clip('@' + name)!r}", at, opening, hint)
    if text[opening : opening + 1] != "(":
        hint = f"write @{name}(…), without a space before the parenthesis"
        raise Fault("MALFORMED_MODIFIER", f"modifier @{name} has no parentheses", at, opening, hint)
    closing = body_end(text, opening + 1)
    if text[closing + 1 : closing + 2] not in ("", " ", "\t"):
        raise _glued(name, text, closing + 1)
    if closing == opening + 1:
        raise Fault("EMPTY_MODIFIER", f"@{name}() is empty", at, closing + 1, f"add a value, or remove @{name}()")
    return Modifier(name, Token(text[opening + 1 : closing], opening + 1), at, closing + 1)


def _no_modifier(text: str, at: int) -> Fault:
    word = tokens(text[at:], 1)[0].text
    alien = strange(word)
    if alien:
        return alien.moved(at)
    hint = "remove the comment" if word.startswith("#") else "write only modifiers after the first modifier"
    if word.partition("(")[0] in MODIFIERS:
        hint = f"did you mean '@{clip(word)}'?"
    message = f"{clip(word)!r} is not a modifier"
    return Fault("NOT_A_MODIFIER", message, at, at + len(word), hint, {"surplus": word})


def _glued(name: str, text: str, at: int) -> Fault:
    alien = strange(text[at])
    if alien:
        return alien.moved(at)
    hint = "remove it" if text[at] == ")" else "put a space between modifiers"
    return Fault("MALFORMED_MODIFIER", f"unexpected text after @{name}(…)", at, at + 1, hint)


def _value(modifier: Modifier) -> Any:
    name, body = modifier.name, modifier.body
    try:
        return _remembered(name, body.text) if len(body.text) <= 256 else READERS[name](body.text)
    except Fault as fault:
        raise fault.moved(body.start) from None


@lru_cache(4_096)
def _remembered(name: str, body: str) -> Any:
    return READERS[name](body)
