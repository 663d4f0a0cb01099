"""Within: whose names a store is asked about. Whoever answers for a tenant says so once, and cannot reach further.

It goes with the task: all that a request does is within its tenant, and what a worker does beside it is not. A store
that can hold to it by itself, such as PostgreSQL by its row-level security, does.
"""

from __future__ import annotations

from contextvars import ContextVar

EVERYWHERE = "*"  # said by who looks after all of them
_WITHIN: ContextVar[str] = ContextVar("within", default="")


def keep_within(prefix: str) -> None:
    """From now on, in this task, only the schedules whose names begin so are there; EVERYWHERE for all of them."""
    _WITHIN.set(prefix)


def within() -> str:
    """What was said; empty if nothing was."""
    return _WITHIN.get()
