"""Calendar facts in memory."""

from __future__ import annotations

from kron.rules.calendar_facts import CalendarFacts


class MemoryCalendar:
    """Calendar facts by scope."""

    def __init__(self) -> None:
        self.facts: dict[str, CalendarFacts] = {}

    async def read(self, scope: str) -> CalendarFacts | None:
        """Return the facts of a scope."""
        return self.facts.get(scope)

    async def write(self, scope: str, facts: CalendarFacts) -> None:
        """Write the facts of a scope."""
        self.facts[scope] = facts

    async def remove(self, before: int, limit: int) -> int:
        """Remove facts that were written before that time."""
        scopes = sorted(scope for scope, facts in self.facts.items() if facts.written < before)[:limit]
        for scope in scopes:
            del self.facts[scope]
        return len(scopes)
