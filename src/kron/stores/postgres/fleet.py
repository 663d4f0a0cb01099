"""Workers and target kinds in PostgreSQL. One worker at a time changes their rows."""

from __future__ import annotations

from collections.abc import Mapping

from kron.engine.fleet import Fleet, kind_of
from kron.rules.downtime import ALWAYS, Downtime
from kron.rules.state import ScheduleState
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Session
from kron.stores.register import Life, Register, Service


async def lease(talk: Session, owner: str, kinds: frozenset[str], length: int, now: int | None) -> Fleet:
    """Lease `owner` for `length` milliseconds; a length of 0 removes it. Returns all living workers.

    `now` is in milliseconds; None uses the database clock.
    """
    ((_, clock),) = await talk.rows("alone_in_leasing")
    register = Register()
    for name, joined, said, end, able in await talk.rows("living"):
        register.lives[name] = Life(joined, said, end, frozenset(able))
    register.kinds = await _kinds(talk)
    lives, services = register.lives, dict(register.kinds)
    fleet = register.lease(owner, kinds, clock if now is None else now, length)
    gone = lives.keys() - register.lives.keys()
    if gone:
        await talk.execute("forget", owners=texts(gone))
    for name, life in register.lives.items():
        if lives.get(name) != life:
            await talk.execute("live", owner=name, **{**life._asdict(), "kinds": texts(sorted(life.kinds))})
    await _serve(talk, {kind: s for kind, s in register.kinds.items() if services.get(kind) != s})
    return fleet


async def downtimes_of(talk: Session, now: int) -> Mapping[str, Downtime]:
    """Return the last downtime of each target kind."""
    return {kind: service.downtime_at(now) for kind, service in (await _kinds(talk)).items()}


def informed(case: ScheduleState, downtimes: Mapping[str, Downtime]) -> ScheduleState:
    """Return the schedule state with the last downtime of its target kind."""
    return case._replace(downtime=downtimes.get(kind_of(case.job.target), ALWAYS))


async def _kinds(talk: Session) -> dict[str, Service]:
    rows = await talk.rows("kinds")
    return {kind: Service(said, until, Downtime(start, end)) for kind, said, until, start, end in rows}


async def _serve(talk: Session, services: Mapping[str, Service]) -> None:
    if services:
        await talk.execute(
            "serve",
            kinds=texts(services),
            saids=numbers(service.said for service in services.values()),
            untils=numbers(service.until for service in services.values()),
            froms=numbers(service.downtime.start for service in services.values()),
            sinces=numbers(service.downtime.end for service in services.values()),
        )
