"""Records of a daemon: the store that `krond` writes, and the job that a user means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kron.apps.host.place import Place
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.engine.request_check import MAX_PAGE_SIZE
from kron.engine.store import Store
from kron.errors import InvalidSetting, NotFound, UsageError, did_you_mean
from kron.rules.state import ScheduleState

MAX_NAMES = 200_000  # jobs of the tables that are compared with a name
_SHOWN_NAMES = 3
T = TypeVar("T")


def has_records(place: Place) -> bool:
    """Return whether a daemon has written records.

    Raises:
        InvalidSetting: This user cannot read them.
    """
    try:
        place.state.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        message = f"{place.state} cannot be read: {error.strerror}"
        raise InvalidSetting("STATE_FOLDER", message, hint="use the account that krond runs as") from None
    return True


def ask_records(place: Place, request: Callable[[Registrar], Awaitable[T]]) -> T:
    """Return the answer of the store of a daemon.

    Raises:
        NotFound: No daemon has written records.
    """
    if not has_records(place):
        hint = f"start {'krond --user' if place.user else 'krond'}, or name its state file with --state"
        raise NotFound("NOT_FOUND", f"krond has no records: {place.state} does not exist", hint=hint)
    return asyncio.run(_answer(place, request))


async def _answer(place: Place, request: Callable[[Registrar], Awaitable[T]]) -> T:
    async with open_store(f"sqlite:{place.state}") as store:
        return await request(Registrar(store))


async def jobs_in_force(registrar: Registrar, place: Place) -> list[ScheduleState]:
    """Return the jobs of all tables that the daemon has read, in the order of their identities."""
    states = list[ScheduleState]()
    for prefix in place.prefixes:
        last = ""
        while page := await registrar.schedules(prefix, after=last, limit=MAX_PAGE_SIZE):
            states += page
            last = page[-1].identity
    return states


def find_job(place: Place, name: str) -> str:
    """Return the identity of the job that a user means: by its table and name, or by its name alone.

    A job that is no longer in a table is found too, because its records stay.

    Raises:
        NotFound: No table has such a job.
        UsageError: Several tables have it.
    """
    return ask_records(place, lambda registrar: _find(registrar.store, place, name))


async def _find(store: Store, place: Place, name: str) -> str:
    names = await _names(store, place, deleted=False)
    identity = _match(place, name, names) or _match(place, name, await _names(store, place, deleted=True))
    if identity:
        return identity
    examples = f"krond has {', '.join(map(repr, names[:_SHOWN_NAMES]))}{' and others' if names[_SHOWN_NAMES:] else ''}"
    plain_names = {each.rpartition(":")[2] for each in names}
    hint = did_you_mean(
        name, [*names, *sorted(plain_names)], examples if names else "krond has no jobs: see krontab -l"
    )
    raise NotFound("NOT_FOUND", f"job {name!r} does not exist", hint=hint)


async def _names(store: Store, place: Place, *, deleted: bool) -> list[str]:
    names = list[str]()
    for prefix in place.prefixes:
        last = ""
        while len(names) < MAX_NAMES and (page := await store.identities(last, MAX_PAGE_SIZE, prefix, deleted=deleted)):
            names += map(place.short, page)
            last = page[-1]
    return names


def _match(place: Place, name: str, names: Sequence[str]) -> str:
    """Return the identity of the job that has this name; empty if there is none."""
    wanted = place.short(name)
    if wanted in names:
        return place.long(wanted)
    matches = [each for each in names if each.rpartition(":")[2] == wanted]
    if len(matches) > 1:
        message = f"{len(matches)} tables have a job {name!r}"
        raise UsageError("USAGE", message, hint=f"use one of {', '.join(matches[:_SHOWN_NAMES])}")
    return place.long(matches[0]) if matches else ""
