"""Vitals: how it goes with the whole, in a few numbers that somebody may watch. Reads only."""

from __future__ import annotations

from kron.stores.postgres.pool import Talk


async def vitals(talk: Talk) -> dict[str, int]:
    """Numbers by their names: who lives, what nobody looks at, what waits and for how long (milliseconds)."""
    ((workers, unlaunchable, aside),) = await talk.rows("served")
    ((waiting, oldest),) = await talk.rows("lag")
    found = {"workers": workers, "unlaunchable": unlaunchable, "aside": aside}
    return found | {"waiting": waiting, "oldest": oldest}
