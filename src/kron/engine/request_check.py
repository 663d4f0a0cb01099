"""Checks of requests on schedules: existence, expected revision, page size and concurrent writes."""

from __future__ import annotations

from kron.errors import Contended, InvalidInput, NotFound, RevisionConflict
from kron.rules.state import ScheduleState

TRIES = 20  # attempts of a write that concurrent writers can defeat
MOST_ON_A_PAGE = 1_000


def known(case: ScheduleState | None, identity: str, *, deleted: bool = False) -> ScheduleState:
    """Return the state of a schedule that exists. If `deleted` is true, a deleted schedule is accepted.

    Raises:
        NotFound: The schedule does not exist.
    """
    if case is None or (case.deleted and not deleted):
        raise NotFound("NOT_FOUND", f"schedule {identity!r} does not exist", hint="define the schedule first")
    return case


def unchanged(case: ScheduleState | None, identity: str, expected: int | None) -> None:
    """Raise if the schedule has another revision than the caller expects.

    Raises:
        RevisionConflict: The revisions differ.
    """
    standing = 0 if case is None or case.deleted else case.revision
    if expected is not None and expected != standing:
        message = (
            f"schedule {identity!r} has revision {standing}, expected {expected}"
            if standing
            else f"schedule {identity!r} does not exist"
        )
        hint = (
            "read the schedule again, and repeat the change"
            if standing
            else "define the schedule without an expected revision"
        )
        raise RevisionConflict("REVISION", message, hint=hint, details={"revision": standing})


def page_size(limit: int) -> int:
    """Return a page size that is within its range.

    Raises:
        InvalidInput: The page size is out of range.
    """
    if not 1 <= limit <= MOST_ON_A_PAGE:
        raise InvalidInput(
            "LIMIT", f"page size {limit} is out of range (1-{MOST_ON_A_PAGE})", hint="request several pages"
        )
    return limit


def contended(identity: str) -> Contended:
    """Return the error of a write that concurrent writers defeated."""
    message = f"{identity!r} was modified concurrently; gave up after {TRIES} attempts"
    return Contended("CONTENDED", message, hint="retry the request")
