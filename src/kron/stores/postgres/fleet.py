"""Workers and target kinds in PostgreSQL. One worker at a time changes their rows."""

from __future__ import annotations

from collections.abc import Mapping

from kron.engine.fleet import Fleet
from kron.rules.downtime import Downtime
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Session
from kron.stores.register import Life, Register, Service


async def lease(session: Session, owner: str, kinds: frozenset[str], length: int, now: int | None, tz: str) -> Fleet:
    """Lease `owner` for `length` milliseconds; a length of 0 removes it. Returns all living workers.

    `now` is in milliseconds; None uses the database clock.
    """
    ((_, clock),) = await session.rows("lock_leases")
    register = Register()
    for name, joined, renewed, end, launchable, version in await session.rows("workers"):
        register.lives[name] = Life(joined, renewed, end, frozenset(launchable), version)
    register.kinds = await _read_kinds(session)
    lives, services = register.lives, dict(register.kinds)
    fleet = register.lease(owner, kinds, clock if now is None else now, length, tz)
    expired_names = lives.keys() - register.lives.keys()
    if expired_names:
        await session.execute("remove_workers", owners=texts(expired_names))
    for name, life in register.lives.items():
        if lives.get(name) != life:
            await session.execute("write_worker", owner=name, **{**life._asdict(), "kinds": texts(sorted(life.kinds))})
    await _write_kinds(
        session, {kind: service for kind, service in register.kinds.items() if services.get(kind) != service}
    )
    return fleet


async def downtimes_of(session: Session, now: int) -> Mapping[str, Downtime]:
    """Return the last downtime of each target kind."""
    return {kind: service.downtime_at(now) for kind, service in (await _read_kinds(session)).items()}


async def _read_kinds(session: Session) -> dict[str, Service]:
    rows = await session.rows("kinds")
    return {kind: Service(renewed, until, Downtime(start, end)) for kind, renewed, until, start, end in rows}


async def _write_kinds(session: Session, services: Mapping[str, Service]) -> None:
    if services:
        await session.execute(
            "write_kinds",
            kinds=texts(services),
            saids=numbers(service.said for service in services.values()),
            untils=numbers(service.until for service in services.values()),
            froms=numbers(service.downtime.start for service in services.values()),
            sinces=numbers(service.downtime.end for service in services.values()),
        )
