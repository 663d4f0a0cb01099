"""The aws reader: cron(…), rate(…) and at(…) of Amazon EventBridge."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.duration import UNITS, write_duration
from kron.language.fault import Fault
from kron.language.foreign.assembly import assemble
from kron.language.foreign.question_line import LineFields, read_line
from kron.language.foreign.year import read_years
from kron.language.modifier_args import read_part
from kron.language.moment import read_moment
from kron.language.options import Options
from kron.language.tokens import Token, invalid_character, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.dst import Dst, Fold, Gap
from kron.timing.schedule.head import MAX_INTERVAL, Every, Moments

LAST_YEAR = 2199
SKIP_FIRST = Dst(Gap.SKIP, Fold.FIRST)  # EventBridge skips a time in a gap, and runs once in a fold
_CALL = re.compile(r"[ \t]*(cron|rate|at)\(([^()]*)\)[ \t]*(.*)", re.ASCII)
_RATE = re.compile(r"[ \t]*([0-9]{1,9})[ \t]+(minute|hour|day)(s?)[ \t]*", re.ASCII)
_UNIT_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}


def read_schedule(text: str, options: Options) -> Schedule:
    """Return the schedule of an EventBridge expression. A rate needs its start: `rate(5 minutes) from …`."""
    character_fault = invalid_character(text)
    if character_fault:
        raise character_fault
    call = _CALL.fullmatch(text)
    if not call:
        hint = "write cron(0 9 ? * MON-FRI *), rate(5 minutes) from 2026-01-01T00:00, or at(2026-12-01T09:00:00)"
        raise Fault("NOT_A_SCHEDULE", "expected cron(…), rate(…) or at(…)", 0, len(text), hint)
    body, rest = Token(call[2], call.start(2)), Token(call[3], call.start(3))
    if call[1] == "rate":
        return assemble(text, _read_rate(body, rest), options.zone, options.policy, SKIP_FIRST)
    if rest.text:
        raise Fault("UNEXPECTED_TOKEN", f"text after {call[1]}(…)", rest.start, rest.end, "remove it")
    if call[1] == "at":
        return assemble(text, _read_at(body), options.zone, options.policy, SKIP_FIRST)
    fields = [word._replace(start=word.start + body.start) for word in tokens(body.text, 7)]
    if len(fields) != 6:
        raise _miscount(body, fields)
    head = read_line(LineFields(Token("0", body.start), *fields[:5]))
    return assemble(text, head, options.zone, options.policy, SKIP_FIRST, read_years(fields[5], LAST_YEAR))


def _read_rate(body: Token, rest: Token) -> Every:
    rate = _RATE.fullmatch(body.text)
    count = int(rate[1]) if rate else 0
    if not rate or not count or (count == 1) == bool(rate[3]):
        hint = "write a number and a unit, such as 1 minute, 5 minutes, 1 hour or 7 days"
        raise Fault(
            "BAD_DURATION", f"{clip(body.text)!r} is not a rate", body.start, max(body.end, body.start + 1), hint
        )
    seconds = count * _UNIT_SECONDS[rate[2]]
    if seconds > MAX_INTERVAL:
        hint = f"write at most {MAX_INTERVAL // 86_400} days"
        raise Fault("BAD_DURATION", f"{clip(body.text)!r} is too long", body.start, body.end, hint)
    words = tokens(rest.text, 3)
    if len(words) != 2 or words[0].text != "from":
        interval = write_duration(seconds * UNITS["s"])
        rate_text = f"rate({' '.join(body.text.split())}) from 2026-01-01T00:00"
        hint = f"add the start date: {rate_text}; or write every {interval} from 2026-01-01T00:00 in the plus dialect"
        end = max(rest.end, rest.start + 1)
        raise Fault("NO_ANCHOR", "a rate needs the moment from which it counts", rest.start, end, hint)
    return Every(seconds, read_part(read_moment, words[1]._replace(start=words[1].start + rest.start)))


def _read_at(body: Token) -> Moments:
    moment = read_part(read_moment, body)
    if moment.is_instant:
        hint = "write the local time; the time zone is a setting"
        raise Fault("BAD_MOMENT", "at(…) has no time zone", body.start, body.end, hint)
    return Moments((moment,))


def _miscount(body: Token, fields: list[Token]) -> Fault:
    count = "7 or more" if len(fields) > 6 else str(len(fields))
    start = fields[6].start if len(fields) > 6 else body.end
    hint = "write minute hour day-of-month month day-of-week year"
    details: dict[str, object] = {"field": "expression", "reason": f"has {count} fields"}
    return Fault("FIELD_COUNT", f"expected 6 fields, got {count}", start, max(body.end, start + 1), hint, details)
