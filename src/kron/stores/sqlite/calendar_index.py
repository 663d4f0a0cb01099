"""Calendar facts in an SQLite file."""

from __future__ import annotations

from kron.rules.calendar_facts import CalendarFacts
from kron.stores.calendar_codec import read_facts, write_facts
from kron.stores.sqlite.file import File


class SqliteCalendar:
    """Calendar facts by scope."""

    def __init__(self, file: File) -> None:
        self.file = file

    async def read(self, scope: str) -> CalendarFacts | None:
        """Return the facts of a scope."""
        rows = await self.file.read(lambda: self.file.rows("calendar_facts", scope=scope))
        return read_facts(*rows[0]) if rows else None

    async def write(self, scope: str, facts: CalendarFacts) -> None:
        """Write the facts of a scope."""
        values = {"scope": scope, "facts": write_facts(facts), "written_at": facts.written}
        await self.file.write(lambda: self.file.rows("write_calendar_facts", **values))

    async def remove(self, before: int, limit: int) -> int:
        """Remove facts that were written before that time."""
        parameters = {"before": before, "limit": limit}
        return len(await self.file.write(lambda: self.file.rows("remove_calendar_facts", **parameters)))
