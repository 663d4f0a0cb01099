"""Parts of a schedule that a text of another scheduler cannot have, and the error that names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kron.errors import InvalidSchedule
from kron.language.plus_text import write_dst
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.dst import Dst
from kron.timing.schedule.policy import KRON
from kron.timing.schedule.sampling import STABLE_SEED, UNIFORM
from kron.timing.schedule.window import INSTANT
from kron.timing.zone import Zone

_END_OF_CHECK = 4_102_444_800  # 2100-01-01; clock changes are compared until then


def common_losses(schedule: Schedule, dst: Dst) -> Iterator[str]:
    """Yield the parts of a schedule that no other scheduler has.

    Args:
        schedule: The schedule.
        dst: Rule for clock changes that the other scheduler follows.
    """
    if schedule.window != INSTANT:
        yield "the window (@win)"
    if schedule.distribution != UNIFORM:
        yield "the distribution (@dist)"
    if schedule.seed != STABLE_SEED:
        yield "the seed (@seed)"
    if schedule.policy != KRON:
        yield "the policy (@policy)"
    if schedule.constraints != UNCONSTRAINED:
        yield "the constraints (@only, @avoid)"
    if isinstance(schedule.cron, Cron) and changes_differ(schedule.cron, schedule.zone, schedule.terms.dst, dst):
        yield CLOCK_LOSS


KEEP_HINT = "remove these parts, or use --to kron"
CLOCK_LOSS = "the rule for clock changes (@dst)"


def not_sayable(form: str, losses: list[str], dst: Dst) -> InvalidSchedule:
    """Return the error of a schedule that another form cannot express.

    Args:
        form: The other form.
        losses: The parts of the schedule that it lacks.
        dst: Its rule for clock changes.
    """
    hint = KEEP_HINT
    if CLOCK_LOSS in losses:
        others = "remove the other parts, and " if len(losses) > 1 else ""
        hint = f"{others}write @dst({write_dst(dst)}), the rule of {form}, in the plus dialect; or use --to kron"
    return InvalidSchedule("NOT_SAYABLE", loss_message(form, losses), hint=hint)


def loss_message(form: str, losses: Iterable[str]) -> str:
    """Return the message that names what another form would lose."""
    return f"the schedule cannot be expressed in {form}: it would lose {', '.join(losses)}"


@lru_cache(1_024)
def changes_differ(cron: Cron, zone: Zone, ours: Dst, theirs: Dst, since: int = 0) -> bool:
    """Return whether a clock change after the instant `since` gives other runs under the other rule."""
    ours = ours.applied_to(cron)
    if ours == theirs or zone.fixed is not None:
        return False
    for shift in zone.shifts(since, _END_OF_CHECK):
        is_gap = shift.after > shift.before
        if (ours.gap != theirs.gap) if is_gap else (ours.fold != theirs.fold):
            first, end = sorted((shift.at + shift.before, shift.at + shift.after))
            wall = cron.after(first - 1)
            if wall is not None and wall < end:
                return True
    return False
