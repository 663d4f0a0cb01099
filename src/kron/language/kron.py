"""The kron dialect: five cron fields, then @tz @win @dist @seed @policy @avoid @only in any order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from kron.errors import clip, nearest
from kron.language.fault import Fault
from kron.language.grammar import MODIFIERS, PLUS_ONLY_MODIFIERS
from kron.language.modifier_args import READERS, Reader
from kron.language.options import Options
from kron.language.quoting import body_end
from kron.language.service import baseline
from kron.language.tokens import Token, invalid_character, tokens
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.constraint import Constraints
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.zone import Zone

_FIRST_MODIFIER = re.compile(r"[^ \t][ \t]+@")  # the first modifier, after other text
_NAME = re.compile(r"@([^\s()@]*)")
_SCHEDULE_FIELDS = {"tz": "zone", "win": "window", "dist": "distribution"}


class Modifier(NamedTuple):
    """Modifier `@name(body)` and its position in the text."""

    name: str
    body: Token
    start: int
    end: int


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a text in the kron dialect into a schedule."""
    return read(text, options.zone, options.policy)


def read(text: str, default_zone: Zone, policy: Policy = KRON) -> Schedule:
    """Parse a text in the kron dialect. `default_zone` and `policy` apply unless the text has @tz or @policy."""
    cron_part, modifiers = scan(text)
    cron = _read_cron(cron_part)
    if not modifiers:
        return Schedule(cron, default_zone, policy=policy)
    return build_schedule(
        cron, {"tz": default_zone} | {modifier.name: read_body(modifier) for modifier in modifiers}, policy
    )


def assemble(cron_text: str, parts: dict[str, Any]) -> Schedule:
    """Return the schedule of a cron text and of the parsed values of its modifiers, by modifier name."""
    return build_schedule(_read_cron(cron_text), parts)


def build_schedule(cron: Head, parts: dict[str, Any], policy: Policy = KRON) -> Schedule:
    """Return the schedule of a head and of the parsed values of its modifiers, by modifier name."""
    parts["policy"] = replace(policy, **parts["policy"]) if "policy" in parts else policy
    if "only" in parts or "avoid" in parts:
        parts["constraints"] = Constraints(parts.pop("only", None), parts.pop("avoid", None))
    return Schedule(cron, **{_SCHEDULE_FIELDS.get(name, name): value for name, value in parts.items()})


def _read_cron(text: str) -> Cron:
    cron = baseline(text)
    if not possible(cron):
        raise _never_runs(tokens(text))
    return cron


def _never_runs(fields: list[Token]) -> Fault:
    message, hint = "never runs: no selected month has such a day", "choose a day that one of the months has"
    details: dict[str, object] = {"field": "day", "reason": "never occurs"}
    return Fault("NEVER", message, fields[2].start, fields[3].end, hint, details)


def scan(text: str, names: tuple[str, ...] = MODIFIERS) -> tuple[str, list[Modifier]]:
    """Split a text into its head and its modifiers, without parsing them. `names` are the modifiers of the dialect."""
    first = _FIRST_MODIFIER.search(text) if "@" in text else None
    if not first:
        return text, []
    position, modifiers = first.end() - 1, list[Modifier]()
    cron_part = text[:position]
    while position < len(text):
        if text[position] in " \t":
            position += 1
            continue
        modifier = _read_modifier(text, position, names)
        if any(modifier.name == other.name for other in modifiers):
            raise Fault(
                "DUPLICATE_MODIFIER", f"duplicate modifier @{modifier.name}", position, modifier.end, "keep one"
            )
        modifiers.append(modifier)
        position = modifier.end
    return cron_part, modifiers


def _read_modifier(text: str, start: int, names: tuple[str, ...]) -> Modifier:
    match = _NAME.match(text, start)
    if not match:
        raise _not_a_modifier(text, start, names)
    name, opening = match[1], match.end()
    if name not in names:
        similar = nearest(name, names)
        hint = f"did you mean '@{similar}'?" if similar else f"use one of {', '.join('@' + n for n in names)}"
        hint = f"use the plus dialect, which has @{name}" if name in PLUS_ONLY_MODIFIERS else hint
        raise Fault("UNKNOWN_MODIFIER", f"unknown modifier {clip('@' + name)!r}", start, opening, hint)
    if text[opening : opening + 1] != "(":
        hint = f"write @{name}(…), without a space before the parenthesis"
        raise Fault("MALFORMED_MODIFIER", f"modifier @{name} has no parentheses", start, opening, hint)
    closing = body_end(text, opening + 1)
    if text[closing + 1 : closing + 2] not in ("", " ", "\t"):
        raise _text_after_modifier(name, text, closing + 1)
    if closing == opening + 1:
        raise Fault("EMPTY_MODIFIER", f"@{name}() is empty", start, closing + 1, f"add a value, or remove @{name}()")
    return Modifier(name, Token(text[opening + 1 : closing], opening + 1), start, closing + 1)


def _not_a_modifier(text: str, start: int, names: tuple[str, ...]) -> Fault:
    word = tokens(text[start:], 1)[0].text
    fault = invalid_character(word)
    if fault:
        return fault.moved(start)
    hint = "remove the comment" if word.startswith("#") else "write only modifiers after the first modifier"
    if word.partition("(")[0] in names:
        hint = f"did you mean '@{clip(word)}'?"
    message = f"{clip(word)!r} is not a modifier"
    return Fault("NOT_A_MODIFIER", message, start, start + len(word), hint, {"surplus": word})


def _text_after_modifier(name: str, text: str, start: int) -> Fault:
    fault = invalid_character(text[start])
    if fault:
        return fault.moved(start)
    hint = "remove it" if text[start] == ")" else "put a space between modifiers"
    return Fault("MALFORMED_MODIFIER", f"unexpected text after @{name}(…)", start, start + 1, hint)


def read_body(modifier: Modifier, readers: Mapping[str, Reader] = READERS) -> Any:
    """Parse the body of a modifier."""
    reader, body = readers[modifier.name], modifier.body
    try:
        return _read_cached_body(reader, body.text) if len(body.text) <= 256 else reader(body.text)
    except Fault as fault:
        raise fault.moved(body.start) from None


@lru_cache(4_096)
def _read_cached_body(reader: Reader, body: str) -> Any:
    return reader(body)
