"""Vitals: how it goes with the whole, in a few numbers that somebody may watch. Reads only."""

from __future__ import annotations

from kron.stores.postgres.pool import Talk


async def vitals(talk: Talk) -> dict[str, int]:
    """Numbers by their names: who lives, what nobody looks at, what waits and for how long (milliseconds)."""
    ((workers, unowned),) = await talk.rows("unowned")
    ((waiting, oldest),) = await talk.rows("lag")
    return {"workers": workers, "unowned": unowned, "waiting": waiting, "oldest": oldest}
