"""Last sign: when the daemon before this one was last known to run. What was changed since then, it has not read."""

from __future__ import annotations

from kron.apps.daemon.installation import Installation
from kron.engine.store import Store
from kron.rules.downtime import EVER


async def last_sign(store: Store, owner: str, installation: Installation) -> int | None:
    """Return the time in milliseconds; None if there was no such daemon, or if it had no jobs.

    A daemon that was killed is still registered. One that has left is known by the downtime of its jobs.
    """
    renewals = [record.renewed for record in await store.overview.workers() if record.owner == owner]
    if renewals:
        return renewals[0]
    identity = next((name for names in installation.identities.values() for name in names), None)
    states = [] if identity is None else await store.get([identity])
    return next(
        (state.downtime.start for state in states if state and 0 < state.downtime.start < state.downtime.end == EVER),
        None,
    )
