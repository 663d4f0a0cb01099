"""The fleet in PostgreSQL: the rows of workers and of kinds of target, changed by one worker at a time."""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.case import Case
from kron.core.downtime import ALWAYS, Downtime
from kron.fleet import Fleet, kind_of
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Talk
from kron.stores.register import Life, Register, Service


async def lease(talk: Talk, owner: str, kinds: frozenset[str], length: int, now: int | None) -> Fleet:
    """Register `owner` for so many milliseconds, or as gone; all who live. Without `now` the database dates it."""
    ((_, clock),) = await talk.rows("alone_in_leasing")
    register = Register()
    for name, joined, said, end, able in await talk.rows("living"):
        register.lives[name] = Life(joined, said, end, frozenset(able))
    register.kinds = await _kinds(talk)
    lives, services = register.lives, dict(register.kinds)
    fleet = register.lease(owner, kinds, clock if now is None else now, length)
    gone = lives.keys() - register.lives.keys()
    if gone:
        await talk.tell("forget", owners=texts(gone))
    for name, life in register.lives.items():
        if lives.get(name) != life:
            await talk.tell("live", owner=name, **{**life._asdict(), "kinds": texts(sorted(life.kinds))})
    await _serve(talk, {kind: s for kind, s in register.kinds.items() if services.get(kind) != s})
    return fleet


async def downtimes_of(talk: Talk, now: int) -> Mapping[str, Downtime]:
    """When last there was no worker for each kind of target."""
    return {kind: service.downtime_at(now) for kind, service in (await _kinds(talk)).items()}


def informed(case: Case, downtimes: Mapping[str, Downtime]) -> Case:
    """The case, with the last downtime of those who can launch it."""
    return case._replace(downtime=downtimes.get(kind_of(case.job.target), ALWAYS))


async def _kinds(talk: Talk) -> dict[str, Service]:
    rows = await talk.rows("kinds")
    return {kind: Service(said, until, Downtime(start, end)) for kind, said, until, start, end in rows}


async def _serve(talk: Talk, services: Mapping[str, Service]) -> None:
    if services:
        await talk.tell(
            "serve",
            kinds=texts(services),
            saids=numbers(service.said for service in services.values()),
            untils=numbers(service.until for service in services.values()),
            froms=numbers(service.downtime.start for service in services.values()),
            sinces=numbers(service.downtime.end for service in services.values()),
        )
