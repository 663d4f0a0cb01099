"""Name index interface: finds a text inside the names of all schedules."""

from __future__ import annotations

from typing import Protocol


class NameIndex(Protocol):
    """Index of all names, which finds a text inside of them. Not every store has one."""

    async def containing(self, scope: str, text: str, after: str, limit: int) -> list[str] | None:
        """Return a page of identities whose names contain a text, in order, without deleted schedules.

        Args:
            scope: Scope of the schedules. It is not part of the names.
            text: The text. Upper and lower case differ.
            after: Only identities after this one.
            limit: Maximum number of identities.

        Returns:
            The identities; None if the index cannot answer: it does not exist, the text is too short for it, or too
            many names contain the text.
        """
