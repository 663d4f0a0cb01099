"""Name search: schedules whose names contain a text.

The first names are read in their order, which finds a frequent text at once. A store with an index of names finds a
rare text among all others.
"""

from __future__ import annotations

from typing import NamedTuple

from kron.engine.store import Store

MAX_SCANNED = 2_000  # names that are read in their order, one by one


class FoundNames(NamedTuple):
    """Page of the identities whose names contain a text, in order."""

    identities: list[str]
    searched_upto: str = (
        ""  # last of the MAX_SCANNED identities that were looked at; empty: enough for the page, or all
    )


async def search_names(store: Store, scope: str, text: str, after: str, limit: int) -> FoundNames:
    """Return a page of the schedules of a scope whose names contain a text, without deleted ones.

    Args:
        store: The store.
        scope: Scope of the schedules. It is not part of the names.
        text: The text. Upper and lower case differ.
        after: Only identities after this one.
        limit: Maximum number of identities.
    """
    names = await store.identities(after, MAX_SCANNED, scope)
    found = [name for name in names if text in name[len(scope) :]]
    if len(found) >= limit or len(names) < MAX_SCANNED:
        return FoundNames(found[:limit])
    index = store.overview.names
    others = await index.containing(scope, text, names[-1], limit - len(found)) if index else None
    return FoundNames(found, names[-1]) if others is None else FoundNames(found + others)
