"""Workers and target kinds in a SQLite file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kron.engine.fleet import Fleet
from kron.rules.downtime import Downtime
from kron.stores.register import Life, Register, Service

Rows = Callable[..., list[Any]]


def lease(rows: Rows, owner: str, kinds: frozenset[str], now: int, length: int, tz: str) -> Fleet:
    """Lease a worker for `length` milliseconds. Returns all living workers."""
    register = read_register(rows)
    register.lives = read_workers(rows)
    lives, services = register.lives, dict(register.kinds)
    fleet = register.lease(owner, kinds, now, length, tz)
    for name in lives.keys() - register.lives.keys():
        rows("remove_worker", owner=name)
    for name, life in register.lives.items():
        if lives.get(name) != life:
            rows("write_worker", owner=name, **{**life._asdict(), "kinds": as_list(life.kinds)})
    for kind, service in register.kinds.items():
        if services.get(kind) != service:
            down_from, up_since = service.downtime
            span = {"down_from": down_from, "up_since": up_since}
            rows("write_kind", kind=kind, said=service.said, until=service.until, **span)
    return fleet


def read_register(rows: Rows) -> Register:
    """Return the stored target kinds, without the workers."""
    register = Register()
    for kind, renewed, end, *downtime in rows("kinds"):
        register.kinds[kind] = Service(renewed, end, Downtime(*downtime))
    return register


def read_workers(rows: Rows) -> dict[str, Life]:
    """Return the registered workers by name, in order."""
    return {
        name: Life(joined, renewed, end, frozenset(json.loads(launchable)), version)
        for name, joined, renewed, end, launchable, version in rows("workers")
    }


def as_list(values: frozenset[int] | frozenset[str]) -> str:
    """Return values as a JSON array, which the statements expand."""
    return json.dumps(sorted(values))
