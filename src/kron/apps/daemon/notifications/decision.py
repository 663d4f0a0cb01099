"""Decision: whether a message about an ended run or about missed periods is due. It is made once for each of them."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.daemon.notifications.finding import Trouble, is_late, trouble_of, trouble_of_gap
from kron.apps.daemon.notifications.notified import Notified
from kron.language.notification_form import Occasion
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.run_state import State

_LATE = Trouble(Occasion.LATE, "")


class Decision(NamedTuple):
    """Occasions of a message, the most important one first, and the number of repeats that it stands for."""

    occasions: tuple[Occasion, ...]
    repeats: int = 0


NOTHING = Decision(())


def decide_run(notified: Notified, run: Run, code: int | None, now: int, *, has_output: bool) -> Decision:
    """Note an ended run, and return what is to be told about it.

    Args:
        notified: What has been told already.
        run: The run.
        code: Exit status of its last attempt; None if there is none.
        now: Current time in milliseconds.
        has_output: Whether the run has printed something.
    """
    trouble, is_success = trouble_of(run, code), run.state is State.SUCCESS
    is_recovery = is_success and notified.has_series(run.identity)
    has_news = trouble is not None or is_recovery or has_output or is_late(run)
    if not notified.note(run.key, now, durable=has_news) or not has_news:
        return NOTHING
    occasions, repeats = list[Occasion](), 0
    for each in (trouble, _LATE if is_late(run) else None):
        count = None if each is None else notified.count(run.identity, each, now)
        if each is not None and count is not None:
            occasions.append(each.occasion)
            repeats = repeats or count
    if is_recovery:
        notified.end_series(run.identity)
        occasions.insert(0, Occasion.RECOVERY)
    return Decision((*occasions, *([Occasion.OUTPUT] if has_output else [])), repeats)


def decide_gap(notified: Notified, identity: str, gap: GapRecord, now: int) -> Decision:
    """Note a gap record, and return what is to be told about it."""
    trouble = trouble_of_gap(gap)
    if trouble is None or not notified.note(f"{identity} {gap.first}", now, durable=True):
        return NOTHING
    repeats = notified.count(identity, trouble, now)
    return NOTHING if repeats is None else Decision((trouble.occasion,), repeats)
