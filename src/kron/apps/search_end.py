"""End of a search for upcoming runs, in words: which bound it reached, and what to do about it."""

from __future__ import annotations

from kron.apps.plural import plural
from kron.errors import InvalidSchedule, KronError, NotFound
from kron.timing.upcoming import MAX_PERIODS_DECIDED
from kron.timing.upcoming_runs import Bound, SearchEnd, Unschedulable
from kron.timing.zone import rfc3339


def no_run_error(end: SearchEnd, after: int) -> KronError:
    """Return the error of a search after the instant `after` that found no run."""
    if end.bound is Bound.NO_DAY:
        message = "the schedule never runs: no month has such a day"
        return InvalidSchedule("NEVER", message, hint="choose a day that exists")
    return NotFound("NOT_FOUND", end_text(end, after), hint=_hint(end, after))


def end_text(end: SearchEnd, after: int, *, further: bool = False) -> str:
    """Return why a search found no run, or no further run, after the instant `after`."""
    if end.bound is Bound.PERIODS and end.upto <= after:
        return f"the windows of more than {MAX_PERIODS_DECIDED:,} periods overlap, so the next run is not known"
    none = f"no {'further ' if further else ''}run"
    text = f"{none} until {rfc3339(end.upto)}"
    if end.bound is Bound.OVER:
        text = f"{none}: the schedule has no later period, because it lists moments or @valid ends it"
    if end.bound is Bound.CALENDAR:
        text += ", where the calendar of Kron ends"
    if end.bound is Bound.CALLER:
        text += ", where the search ended because it took too long"
    if end.bound is Bound.PERIODS:
        text += f", where the search ended after {MAX_PERIODS_DECIDED:,} periods"
    return f"{text}: {unschedulable_text(end.unschedulable)}" if end.unschedulable.periods else text


def unschedulable_text(unschedulable: Unschedulable) -> str:
    """Return how many periods cannot run, and why: `358 periods cannot run: only dates`."""
    return f"{plural(unschedulable.periods, 'period')} cannot run: {', '.join(unschedulable.clauses)}"


def _hint(end: SearchEnd, after: int) -> str:
    if end.unschedulable.periods:
        return "move or widen the window, or relax the constraints"
    if end.bound is Bound.PERIODS and end.upto <= after:
        return "use a shorter window, or fewer periods"
    return "write later moments or a later end" if end.bound is Bound.OVER else "use an earlier instant with --at"
