"""Values of a field as Quartz and EventBridge write them: n/s counts from n to the end, and a range can wrap around."""

from __future__ import annotations

from kron.language import field_errors
from kron.language.fault import Fault
from kron.language.fields import read_step, read_value
from kron.language.grammar import Grammar, Kind
from kron.language.tokens import Token, elements

GRAMMAR = Grammar("quartz", steps=True, names=True)


def read_values(field: Token, kind: Kind) -> int:
    """Return the values of a field as a bit set whose lowest bit is the lowest value."""
    if field.text == "*":
        return kind.all
    values = 0
    for element in elements(field):
        values |= read_element(element, kind)
    return values


def read_element(element: Token, kind: Kind) -> int:
    """Return the values of one element of a list as a bit set."""
    try:
        return _read_element(element.text, kind)
    except Fault as fault:
        raise fault.moved(element.start) from None


def _read_element(text: str, kind: Kind) -> int:
    base, slash, step = text.partition("/")
    first, dash, last = base.partition("-")
    if base == "*" and not slash:
        raise field_errors.star(text, kind)
    if slash and base in ("*", ""):
        low, high = kind.low, kind.high
    else:
        low = read_value(first, 0, kind, GRAMMAR)
        if slash and not dash and not first.isdigit():
            raise field_errors.step_of_one(text, kind)
        if dash and not last:
            raise field_errors.open_range(first, kind)
        high = read_value(last, len(first) + 1, kind, GRAMMAR) if dash else (kind.high if slash else low)
    stride = read_step(step, len(base) + 1, kind) if slash else 1
    size = kind.high - kind.low + 1
    values = 0
    for value in range(low, high + 1 + (size if low > high else 0), stride):
        values |= 1 << (value - kind.low) % size
    return values
