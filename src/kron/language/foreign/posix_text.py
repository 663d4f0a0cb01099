"""Writer of strict POSIX cron: five fields of numbers, ranges and lists. The time zone is a setting elsewhere."""

from __future__ import annotations

from kron.errors import InvalidSchedule
from kron.language.canonical import to_posix
from kron.language.foreign.losses import KEEP_HINT, common_losses, loss_message
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.dst import WALL
from kron.timing.schedule.terms import ALWAYS


def write(schedule: Schedule) -> str:
    """Return the text of a schedule.

    Raises:
        InvalidSchedule: The schedule cannot be expressed exactly.
    """
    losses, head = list(common_losses(schedule, WALL)), schedule.cron
    if schedule.terms.valid != ALWAYS:
        losses.append("the validity (@valid)")
    if not isinstance(head, Cron):
        losses.append("the listed moments or the interval")
    elif head.seconds != 1:
        losses.append("the seconds")
    if isinstance(head, DayCron):
        losses.append("the days (L, W, #, @days)")
    if losses or not isinstance(head, Cron):
        raise InvalidSchedule("NOT_POSIX", loss_message("strict POSIX cron", losses), hint=KEEP_HINT)
    return to_posix(head)
