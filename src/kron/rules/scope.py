"""Scope of a schedule: the part of its identity up to the first slash.

A tenant of the service is such a scope. Counters and indexes that are ordered by time have it as a column, so that a
small tenant does not read the rows of all others.
"""

from __future__ import annotations

ALL = ""  # scope of all schedules


def scope_of(identity: str) -> str:
    """Return the scope of an identity, with the slash; empty if the identity has no slash."""
    return identity[: identity.find("/") + 1]
