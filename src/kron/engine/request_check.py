"""Checks of requests on schedules: existence, expected revision, page size and concurrent writes."""

from __future__ import annotations

from kron.errors import Contended, InvalidInput, NotFound, RevisionConflict
from kron.rules.state import ScheduleState

MAX_WRITE_ATTEMPTS = 20  # attempts of a write that concurrent writers can defeat
MAX_PAGE_SIZE = 1_000


def require_schedule(state: ScheduleState | None, identity: str, *, deleted: bool = False) -> ScheduleState:
    """Return the state of a schedule that exists. If `deleted` is true, a deleted schedule is accepted.

    Raises:
        NotFound: The schedule does not exist.
    """
    if state is None or (state.deleted and not deleted):
        raise NotFound("NOT_FOUND", f"schedule {identity!r} does not exist", hint="define the schedule first")
    return state


def require_revision(state: ScheduleState | None, identity: str, expected: int | None) -> None:
    """Raise if the schedule has another revision than the caller expects.

    Raises:
        RevisionConflict: The revisions differ.
    """
    revision = 0 if state is None or state.deleted else state.revision
    if expected is not None and expected != revision:
        message = (
            f"schedule {identity!r} has revision {revision}, expected {expected}"
            if revision
            else f"schedule {identity!r} does not exist"
        )
        hint = (
            "read the schedule again, and repeat the change"
            if revision
            else "define the schedule without an expected revision"
        )
        raise RevisionConflict("REVISION", message, hint=hint, details={"revision": revision})


def checked_page_size(limit: int) -> int:
    """Return a page size that is within its range.

    Raises:
        InvalidInput: The page size is out of range.
    """
    if not 1 <= limit <= MAX_PAGE_SIZE:
        raise InvalidInput(
            "LIMIT", f"page size {limit} is out of range (1-{MAX_PAGE_SIZE})", hint="request several pages"
        )
    return limit


def contended_error(identity: str) -> Contended:
    """Return the error of a write that concurrent writers defeated."""
    message = f"{identity!r} was modified concurrently; gave up after {MAX_WRITE_ATTEMPTS} attempts"
    return Contended("CONTENDED", message, hint="retry the request")
