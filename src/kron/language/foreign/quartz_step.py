"""Steps that Quartz refuses or ignores: `0/90` in the minutes, and `MON-FRI/2`."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.fault import Fault
from kron.language.foreign.question_line import WEEKDAY_FROM_1, LineFields
from kron.language.foreign.value_set import read_element
from kron.language.grammar import DAY, HOUR, MINUTE, MONTH, SECOND, Kind
from kron.language.tokens import Token, elements

_STEP = re.compile(r"(.*)/([0-9]{1,9})", re.ASCII | re.DOTALL)
_NAMED_RANGE = re.compile(r"[A-Z]{3}-[A-Z0-9]{1,3}", re.IGNORECASE | re.ASCII)
_HIGHEST_STEPS = {SECOND: 59, MINUTE: 59, HOUR: 23, DAY: 31, MONTH: 12, WEEKDAY_FROM_1: 7}


def check_steps(line: LineFields) -> None:
    """Refuse a step that Quartz does not accept, and a step that it ignores."""
    for field, (kind, highest) in zip(line, _HIGHEST_STEPS.items(), strict=True):
        for element in elements(field) if "/" in field.text else ():
            match = _STEP.fullmatch(element.text)
            if match and int(match[2]) > highest:
                hint = f"write a step from 1 to {highest}"
                raise _fault("BAD_STEP", element, kind, f"step {match[2]} is too large", hint)
            if match and int(match[2]) > 1 and _NAMED_RANGE.fullmatch(match[1]):
                raise _fault(
                    "NOT_SAYABLE", element, kind, "Quartz ignores a step of named values", _hint(element, kind)
                )


def _hint(element: Token, kind: Kind) -> str:
    """Return both meanings: the range, and the values that the step selects."""
    values, names = read_element(element, kind), kind.names
    selected = ",".join(name for bit, name in enumerate(names) if values >> bit & 1)
    return f"write {selected}, or {element.text.partition('/')[0]} for what Quartz runs"


def _fault(code: str, element: Token, kind: Kind, reason: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": kind.name, "reason": reason}
    message = f"{kind.name} field {clip(element.text)!r}: {reason}"
    return Fault(code, message, element.start, element.end, hint, details)
