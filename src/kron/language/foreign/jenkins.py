"""The jenkins reader: five fields with H, which stands for a value that is derived from the identity.

The hash is Kron's own: the minutes differ from Jenkins's own, but are as stable. Both day fields must match.
"""

from __future__ import annotations

import re
from hashlib import sha256

from kron.errors import clip, did_you_mean
from kron.language import field_errors
from kron.language.fault import Fault
from kron.language.fields import bits, read_step
from kron.language.foreign.assembly import assemble
from kron.language.grammar import FIELD_KINDS, Grammar, Kind
from kron.language.modifier_args import read_part, read_zone
from kron.language.options import IDENTITY_HINT, Options
from kron.language.plus import with_days
from kron.language.tokens import Token, elements, invalid_character, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import MONTH_DAYS, WEEK, Cron
from kron.timing.schedule.days import Days
from kron.timing.schedule.dst import WALL
from kron.timing.zone import Zone

GRAMMAR = Grammar("jenkins", steps=True, seven=True, lacks="which Jenkins does not support")
MACROS = {
    "@yearly": "H H H H *",
    "@annually": "H H H H *",
    "@monthly": "H H H * *",
    "@weekly": "H H * * H",
    "@daily": "H H * * *",
    "@midnight": "H H(0-2) * * *",
    "@hourly": "H * * * *",
}
_HASH = re.compile(r"H(?:\(([0-9]{1,4})-([0-9]{1,4})\))?(?:/(.*))?", re.ASCII | re.DOTALL)
_LAST_HASHED_DAY = 28  # every month has it


def read_schedule(text: str, options: Options) -> Schedule:
    """Return the schedule of a Jenkins cron line, which a line such as TZ=Europe/Paris can precede."""
    line, named_zone = _read_lines(text)
    fields = _fields(line)
    sets = [_read_field(field, kind, options.identity) for field, kind in zip(fields, FIELD_KINDS[1:], strict=True)]
    minutes, hours, days, months, weekdays = sets
    base = Cron(minutes, hours, days, months, weekdays, days == MONTH_DAYS, weekdays == WEEK)
    return assemble(text, with_days(base, Days(both=True)), named_zone or options.zone, options.policy, WALL)


def _read_lines(text: str) -> tuple[Token, Zone | None]:
    """Return the line with the fields, and the zone of the line before it."""
    named_zone, line, start = None, None, 0
    for part in text.split("\n"):
        word = Token(part.strip(" \t\r"), start + len(part) - len(part.lstrip(" \t\r")))
        start += len(part) + 1
        if not word.text or word.text.startswith("#"):
            continue
        if line is not None:
            hint = "write each line as a schedule of its own"
            raise Fault("UNEXPECTED_TOKEN", "the text has a second schedule", word.start, word.end, hint)
        if word.text.startswith("TZ=") and named_zone is None:
            _check_zone_line(word)
            named_zone = read_part(read_zone, Token(word.text[3:], word.start + 3))
        else:
            line = word
    if line is None:
        message = "the fields are missing"
        raise Fault("FIELD_COUNT", message, len(text), len(text) + 1, "write five fields, such as H 3 * * *")
    return line, named_zone


def _check_zone_line(word: Token) -> None:
    """Refuse a time zone with fields on the same line."""
    zone, *rest = tokens(word.text, 2)
    if rest:
        hint = f"begin a new line after {zone.text[:80]}"
        start = word.start + rest[0].start
        raise Fault("UNEXPECTED_TOKEN", "TZ= needs a line of its own", start, word.end, hint)


def _fields(line: Token) -> list[Token]:
    """Return the five fields of a line, or of its macro."""
    fields_text, start = line.text, line.start
    if fields_text.startswith("@"):
        if fields_text not in MACROS:
            hint = did_you_mean(fields_text, MACROS, f"use one of {', '.join(MACROS)}")
            raise Fault("MACRO", f"unknown macro {clip(fields_text)!r}", line.start, line.end, hint)
        return [Token(word.text, line.start) for word in tokens(MACROS[fields_text])]
    fault = invalid_character(fields_text)
    if fault:
        raise fault.moved(start)
    fields = [word._replace(start=word.start + start) for word in tokens(fields_text, 6)]
    if len(fields) != 5:
        raise field_errors.miscount(fields_text, GRAMMAR).moved(start)
    return fields


def _read_field(field: Token, kind: Kind, identity: str) -> int:
    if field.text == "*":
        return kind.all
    values = 0
    for element in elements(field):
        match = _HASH.fullmatch(element.text)
        try:
            values |= _hashed(match, kind, identity) if match else bits(element.text, kind, GRAMMAR)
        except Fault as fault:
            raise fault.moved(element.start) from None
    return values


def _hashed(match: re.Match[str], kind: Kind, identity: str) -> int:
    """Return the value of H, or with a step those that are whole steps from the first one."""
    if not identity:
        message = "H needs an identity, from which its value is derived"
        raise Fault("NO_IDENTITY", message, match.start(), match.end(), IDENTITY_HINT)
    low, high = kind.low, _LAST_HASHED_DAY if kind.name == "day" else kind.high
    if match[1]:
        read_part(lambda text: bits(text, kind, GRAMMAR), Token(f"{match[1]}-{match[2]}", match.start(1)))  # checks it
        low, high = int(match[1]), int(match[2])
    size = high - low + 1
    step = read_step(match[3], match.start(3), kind) if match[3] is not None else 0
    if step > size:
        hint = f"use a step from 1 to {size}"
        raise Fault("BAD_STEP", f"{kind.name} field: step {step} is too large", match.start(3), match.end(3), hint)
    offset = int.from_bytes(sha256(f"jenkins:{kind.name}:{identity}".encode("utf-8", "surrogatepass")).digest())
    positions = range(low + offset % step, high + 1, step) if step else [low + offset % size]
    return sum(1 << (position - kind.low) % (kind.high - kind.low + 1) for position in positions)
