"""Health metrics of a database, for monitoring. Reads only."""

from __future__ import annotations

from kron.stores.postgres.pool import Session


async def vitals(session: Session) -> dict[str, int]:
    """Return the health metrics by name.

    Returns:
        `workers`: living workers. `unlaunchable`: due schedules that no living worker can launch. `aside`: schedules
        that are set aside. `waiting`: due schedules that wait. `oldest`: the longest wait in milliseconds.
    """
    ((workers, unlaunchable, aside),) = await session.rows("worker_counts")
    ((waiting, oldest),) = await session.rows("lag")
    served = {"workers": workers, "unlaunchable": unlaunchable, "aside": aside}
    return served | {"waiting": waiting, "oldest": oldest}
