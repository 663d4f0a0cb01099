"""Faults of cron fields and of the number of fields, with hints for corrections."""

from __future__ import annotations

import re

from kron.errors import clip, did_you_mean
from kron.language.fault import Fault
from kron.language.grammar import DAY_NAMES, FIELD_ORDER, MODIFIERS, Grammar, Kind
from kron.language.tokens import Token, invalid_character, tokens, words

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_NAME_WORD = re.compile(r"[A-Za-z]{2,}")
_QUARTZ_TOKEN = re.compile(r"\?|LW?|W|L-[0-9]+|[0-9]+[LW]|[A-Z]{3}L|[A-Z0-9]*#[0-9]*", re.IGNORECASE | re.ASCII)
_MODIFIER_HINT = "use the kron dialect for modifiers; in other dialects they are separate settings"


def step(text: str, kind: Kind, grammar: Grammar, values: int) -> Fault:
    """Return the fault of `*/15` where steps are not supported. `values` is the bit set of what it would select."""
    value_list = ",".join(str(kind.low + bit) for bit in range(values.bit_length()) if values >> bit & 1)
    hint = f"write {value_list}" if value_list else "list the values"
    return _unsupported(_field_fault("STEP", text, 0, kind, f"has a step, {grammar.lacks}", hint))


def star(text: str, kind: Kind) -> Fault:
    """Return the fault of `*,5`, which selects both all values and some."""
    hint = "list the values" if kind.noun == "clause" else "write * alone, or list the values"
    return _field_fault("STAR_IN_LIST", text, 0, kind, "has * in a list", hint)


def step_of_one(text: str, kind: Kind) -> Fault:
    """Return the fault of `5/15`, which some implementations read as 5-59/15 and others as 5."""
    base, _, stride = text.partition("/")
    hint = f"write {clip(base)}-{_highest_value(base, kind)}/{clip(stride)}" if stride else f"write {clip(base)}"
    reason = f"has a step after the single value {clip(base)}"
    return _field_fault("STEP_NEEDS_RANGE", text, 0, kind, reason, hint)


def bad_step(text: str, start: int, kind: Kind) -> Fault:
    """Return the fault of `*/0`, `*/x` or `*/`."""
    reason = f"step {clip(text)!r} is not a whole number of at least 1" if text else "has / without a step"
    return _field_fault("BAD_STEP", text or "/", start if text else start - 1, kind, reason, "write a step such as */2")


def open_range(first: str, kind: Kind) -> Fault:
    """Return the fault of `5-`."""
    reason = f"has the range {clip(first)}- without an end"
    return _field_fault(
        "OPEN_RANGE", f"{first}-", 0, kind, reason, f"write {clip(first)}-{_highest_value(first, kind)}"
    )


def reversed_range(first: str, last: str, low: int, high: int, kind: Kind) -> Fault:
    """Return the fault of `FRI-MON`. A range does not wrap around; the hint proposes two ranges."""
    upper = clip(first) + (f"-{_highest_value(first, kind)}" if low < kind.high else "")
    bottom = kind.names[0] if last.isalpha() else kind.low
    lower = (f"{bottom}-" if high > kind.low else "") + clip(last)
    hint = f"write {lower}" if low > kind.high else f"write {upper},{lower}"  # 7-2 begins on Sunday, which is 0
    reason = f"range {clip(first)}-{clip(last)} is reversed"
    return _field_fault("REVERSED_RANGE", f"{first}-{last}", 0, kind, reason, hint)


def out_of_range(text: str, start: int, kind: Kind, grammar: Grammar, number: int) -> Fault:
    """Return the fault of a number outside the range of the field."""
    hint = f"use {grammar.allowed(kind)}"
    if number == 7 and kind.names == DAY_NAMES:
        hint = "write 0 for Sunday, as in 5-6,0" if start else "write 0 for Sunday"
    high = kind.high + (grammar.seven and kind.names == DAY_NAMES)
    return _field_fault(
        "OUT_OF_RANGE", text, start, kind, f"value {clip(text)} is out of range ({kind.low}-{high})", hint
    )


def no_value(text: str, start: int, kind: Kind, grammar: Grammar) -> Fault:
    """Return the fault of a text that is neither a number nor, where names are supported, a name."""
    hint = f"use {grammar.allowed(kind)}"
    if not text:
        return _field_fault(
            "EMPTY_ELEMENT", text, start, kind, "has an empty element", "remove the stray comma, or " + hint
        )
    if _QUARTZ_TOKEN.fullmatch(text):
        hint = "write * for any" if text == "?" else hint
        return _field_fault("QUARTZ", text, start, kind, f"has the Quartz token {clip(text)}", hint)
    if _NAME_WORD.fullmatch(text):
        return _unknown_name(text, start, kind, grammar)
    if text[0] in "\"'`":
        hint = "remove the quotes"
    elif "@" in text:
        hint = "put a space before the @" if grammar.name == "kron" else _MODIFIER_HINT
    return _field_fault("NOT_A_NUMBER", text, start, kind, f"value {clip(text)!r} is not a whole decimal number", hint)


def _unknown_name(text: str, start: int, kind: Kind, grammar: Grammar) -> Fault:
    number = kind.number(text[:3])
    if not grammar.names:
        hint = f"use {grammar.allowed(kind) if number is None else number}"
        return _unsupported(
            _field_fault("NAME", text, start, kind, f"has the name {clip(text)}, {grammar.lacks}", hint)
        )
    hint = did_you_mean(text, kind.names, f"use {grammar.allowed(kind)}")
    if number is not None:
        hint = f"did you mean '{kind.names[number - kind.low]}'?"
    return _field_fault("UNKNOWN_NAME", text, start, kind, f"has the unknown name {clip(text)}", hint)


def miscount(text: str, grammar: Grammar, max_fields: int = 5) -> Fault:
    """Return the fault of too few or too many fields, at the surplus or where a field is missing."""
    fields = tokens(text, max_fields + 1)
    if fields and fields[0].text.startswith("@"):
        return macro(fields[0], grammar)
    count, end = len(words(text)), len(text.rstrip(" \t"))
    surplus = fields[max_fields] if count > max_fields else None
    character_fault = invalid_character(text[: surplus.start] if surplus else text)
    if character_fault:
        return character_fault
    message = f"expected 5{' or 6' if max_fields == 6 else ''} fields, got {count}"
    details: dict[str, object] = {"field": "expression", "reason": f"has {count} fields"}
    if surplus:
        details["surplus"] = text[surplus.start : end]
        return Fault("FIELD_COUNT", message, surplus.start, end, _surplus_hint(surplus.text, grammar), details)
    return Fault("FIELD_COUNT", message, end, end + 1, f"write {FIELD_ORDER}", details)


def _surplus_hint(word: str, grammar: Grammar) -> str:
    if word.startswith("@"):
        return _MODIFIER_HINT
    if word.startswith("#"):
        return "remove the comment"
    if grammar.name == "kron" and word.partition("(")[0] in MODIFIERS:
        return f"did you mean '@{clip(word)}'?"
    return f"write {FIELD_ORDER}"


def macro(word: Token, grammar: Grammar) -> Fault:
    """Return the fault of a text that begins with a macro such as `@daily`, or with a modifier."""
    if "(" in word.text:
        hint = "put the five fields before it" if grammar.name == "kron" else _MODIFIER_HINT
        return _expression_fault("MODIFIER_FIRST", word, "modifier precedes the fields", hint)
    equivalent = MACROS.get(word.text.lower())
    hint = f"write {equivalent}" if equivalent else did_you_mean(word.text, MACROS, f"write five fields: {FIELD_ORDER}")
    message = f"macro {clip(word.text)!r} is not supported by the {grammar.name} dialect"
    return _expression_fault("MACRO", word, message, hint)


def _expression_fault(code: str, word: Token, message: str, hint: str) -> Fault:
    return Fault(code, message, word.start, word.end, hint, {"field": "expression", "reason": message})


def _field_fault(code: str, text: str, start: int, kind: Kind, reason: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": kind.name, "reason": reason}
    return Fault(code, f"{kind.name} {kind.noun} {reason}", start, start + len(text), hint, details)


def _unsupported(fault: Fault) -> Fault:
    """Mark a fault about syntax that another dialect supports."""
    fault.details["unsupported"] = True
    return fault


def _highest_value(other_end: str, kind: Kind) -> str | int:
    """Return the highest value, as a name or a number like the other end of the range."""
    return kind.names[-1] if kind.names and other_end.isalpha() else kind.high
