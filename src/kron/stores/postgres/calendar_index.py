"""Calendar facts in PostgreSQL: one row for each scope."""

from __future__ import annotations

from kron.rules.calendar_facts import CalendarFacts
from kron.stores.calendar_codec import read_facts, write_facts
from kron.stores.postgres.pool import Pool, Session


class PostgresCalendar:
    """Calendar facts by scope."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def read(self, scope: str) -> CalendarFacts | None:
        """Return the facts of a scope."""
        return await self.pool.read(lambda session: facts_of(session, scope))

    async def write(self, scope: str, facts: CalendarFacts) -> None:
        """Write the facts of a scope."""
        values = {"scope": scope, "facts": write_facts(facts), "written": facts.written}
        await self.pool.write(lambda session: session.execute("write_calendar_facts", **values))

    async def remove(self, before: int, limit: int) -> int:
        """Remove facts that were written before that time."""
        parameters = {"before": before, "limit": limit}
        return len(await self.pool.write(lambda session: session.rows("remove_calendar_facts", **parameters)))


async def facts_of(session: Session, scope: str) -> CalendarFacts | None:
    """Return the facts of a scope; None if no pass has written them."""
    rows = await session.rows("calendar_facts", scope=scope)
    return read_facts(*rows[0]) if rows else None
