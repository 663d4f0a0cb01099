"""Agreement: which dialects accept a text, and which of them read it alike."""

from __future__ import annotations

from dataclasses import replace

from kron.errors import KronError
from kron.language.dialect import TABLE, ZONE_NAMING, Dialect
from kron.language.fault import Fault
from kron.language.options import Options
from kron.language.tokens import check_text
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import possible
from kron.timing.schedule.dst import WALL
from kron.timing.schedule.policy import KRON

PREFERRED = "kron"  # of the dialects that read a text alike, this one is named first
ANY_IDENTITY = "-"  # identity for a text that is only checked


def accept(text: str, dialect: Dialect, options: Options) -> Schedule | None:
    """Return the schedule of a text in a dialect; None if the dialect refuses the text or the text never runs."""
    try:
        check_text(text)
        schedule = dialect.read(text, options._replace(identity=options.identity or ANY_IDENTITY))
    except (Fault, KronError):
        return None
    return schedule if possible(schedule.cron) else None


def readings(text: str, options: Options, *, without: str = "") -> list[dict[str, Schedule]]:
    """Return the readings of a text by all dialects, one group per meaning.

    Args:
        text: The text, without the name of a dialect.
        options: Options of the reading.
        without: Name of a dialect that is left out.

    Returns:
        For each meaning, the schedules by the names of the dialects that read it so.
    """
    groups: dict[Schedule, dict[str, Schedule]] = {}
    for dialect in preferred_order():
        is_refused = dialect.name == without or ("@tz(" in text and dialect.name not in ZONE_NAMING)
        schedule = None if is_refused else accept(text, dialect, options)
        if schedule is not None:
            groups.setdefault(wall_times(schedule), {})[dialect.name] = schedule
    return list(groups.values())


def preferred_order() -> list[Dialect]:
    """Return the dialects in the order in which hints name them."""
    return sorted(TABLE.values(), key=lambda dialect: dialect.name != PREFERRED)


def wall_times(schedule: Schedule) -> Schedule:
    """Return what decides the wall-clock times of a schedule. Two readings agree if these are equal.

    The rule for clock changes is not part of it: a dialect's own rule counts only if the dialect is named.
    """
    return replace(schedule, policy=KRON, terms=replace(schedule.terms, dst=WALL))
