"""Canonical texts of what the plus dialect adds: its heads, and the modifiers @days, @dst and @valid."""

from __future__ import annotations

from collections.abc import Iterator

from kron.language.duration import UNITS, write_duration
from kron.language.moment import write_date, write_moment
from kron.timing.schedule import Schedule
from kron.timing.schedule.days import DayCron, Days
from kron.timing.schedule.dst import AFTER_FIRST, ONCE, WALL, Dst
from kron.timing.schedule.head import Every, Moments
from kron.timing.schedule.terms import Valid


def write_head(head: Moments | Every) -> str:
    """Return the canonical text of listed moments or of an interval."""
    if isinstance(head, Moments):
        return f"at {','.join(map(write_moment, head.moments))}"
    return f"every {write_duration(head.seconds * UNITS['s'])} from {write_moment(head.anchor)}"


def write_plus_modifiers(schedule: Schedule) -> Iterator[str]:
    """Yield @days, @dst and @valid, as far as they differ from the defaults of the head."""
    head, terms = schedule.cron, schedule.terms
    if isinstance(head, DayCron):
        days = ",".join(_write_days(head.rule))
        if days:
            yield f"@days({days})"
    default = AFTER_FIRST if isinstance(head, Moments | Every) else WALL
    if terms.dst != default:
        yield f"@dst({write_dst(terms.dst, default)})"
    valid = ",".join(_write_valid(terms.valid))
    if valid:
        yield f"@valid({valid})"


def write_dst(dst: Dst, default: Dst = WALL) -> str:
    """Return the body of @dst: a name where the rule has one, otherwise the keys that differ from the default."""
    if dst in (WALL, ONCE):
        return "wall" if dst == WALL else "once"
    gap = [f"gap={dst.gap}"] if dst.gap is not default.gap else []
    return ",".join(gap + ([f"fold={dst.fold}"] if dst.fold is not default.fold else []))


def _write_days(rule: Days) -> Iterator[str]:
    if rule.both:
        yield "match=both"
    if rule.start is not None:
        yield f"every={rule.every}{'w' if rule.weeks else 'd'}"
        yield f"from={write_date(rule.start)}"


def _write_valid(valid: Valid) -> Iterator[str]:
    if valid.start is not None:
        yield f"from={write_moment(valid.start)}"
    if valid.until is not None:
        yield f"until={write_moment(valid.until)}"
    if valid.times is not None:
        yield f"times={valid.times}"
