"""Calendar index interface: facts about the schedules of each scope, which a background pass writes."""

from __future__ import annotations

from typing import Protocol

from kron.rules.calendar_facts import CalendarFacts


class CalendarIndex(Protocol):
    """Calendar facts of a store. Nothing but answers to people depends on them."""

    async def read(self, scope: str) -> CalendarFacts | None:
        """Return the facts of a scope; None if no pass has written them."""

    async def write(self, scope: str, facts: CalendarFacts) -> None:
        """Write the facts of a scope, and replace those that exist."""

    async def remove(self, before: int, limit: int) -> int:
        """Remove the facts of up to `limit` scopes that were written before that time (milliseconds).

        Returns how many.
        """
