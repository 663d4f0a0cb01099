"""Check of moments: a wall-clock time that the clocks skip or repeat is refused, with the spellings that are clear."""

from __future__ import annotations

from collections.abc import Iterator

from kron.language.fault import Fault
from kron.language.moment import write_moment
from kron.timing.clock_change import gap_around
from kron.timing.schedule import Schedule
from kron.timing.schedule.head import Every, Moment, Moments
from kron.timing.zone import Zone


def check_moments(text: str, schedule: Schedule) -> None:
    """Refuse a text with a moment that does not exist in its zone, or that comes twice."""
    zone = schedule.zone
    if zone.fixed is not None:
        return
    for moment in _moments(schedule):
        instants = [] if moment.is_instant else zone.instants(moment.second)
        if not moment.is_instant and len(instants) != 1:
            raise _fault(text, moment, zone, instants)


def _moments(schedule: Schedule) -> Iterator[Moment]:
    head, valid = schedule.cron, schedule.terms.valid
    if isinstance(head, Moments):
        yield from head.moments
    elif isinstance(head, Every):
        yield head.anchor
    yield from (moment for moment in (valid.start, valid.until) if moment is not None)


def _fault(text: str, moment: Moment, zone: Zone, instants: list[int]) -> Fault:
    name = write_moment(moment)
    start = max(text.find(name), 0)
    end = start + len(name) if text.startswith(name, start) else len(text)
    if instants:
        spellings = " or ".join(name + _offset_text(moment.second - instant) for instant in instants)
        message = f"{name} comes twice in {zone.name}, because the clocks are set back"
        return Fault("TWICE", message, start, end, f"write {spellings}")
    shift = gap_around(moment.second, zone)
    after = write_moment(Moment(shift.at + shift.after))
    message = f"{name} does not exist in {zone.name}, because the clocks are set forward"
    hint = f"write {after}, the first moment after the change, or {name}{_offset_text(shift.before)}"
    return Fault("NO_SUCH_TIME", message, start, end, hint)


def _offset_text(seconds: int) -> str:
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
