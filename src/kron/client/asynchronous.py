"""HTTP API client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from kron.client.blocking import Client
from kron.client.pages import PAGE
from kron.client.transport import RETRIES

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return a coroutine method that calls a method of `Client` in a thread, with the same arguments and result."""

    @wraps(method)
    async def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.plain, *args, **kwargs)

    return call


def _iterated(
    method: Callable[Concatenate[Client, P], Iterator[T]], size: int = PAGE
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """Return a method for `async for` over the iterator that a method of `Client` returns.

    Up to `size` entries are read at once, in a thread.
    """

    @wraps(method)
    async def iterate(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        entries = method(self.plain, *args, **kwargs)
        while batch := await asyncio.to_thread(lambda: list(islice(entries, size))):
            for entry in batch:
                yield entry

    return iterate


class AsyncClient:
    """Client for asyncio with the methods of `Client`: each call runs `Client` in a thread.

    Arguments, results and errors are those of `Client`. A method of `Client` that returns an iterator returns one for
    `async for` here; the others are coroutines.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
        retries: How often a call is repeated.
    """

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0, retries: int = RETRIES) -> None:
        self.plain = Client(url, token, timeout=timeout, retries=retries)

    schedules = _iterated(Client.schedules)
    runs = _iterated(Client.runs)
    dead_letters = _iterated(Client.dead_letters)
    bulk = _iterated(Client.bulk)
    events = _iterated(Client.events, 1)
    troubled_runs = _iterated(Client.troubled_runs)
    activity = _iterated(Client.activity)
    create = _in_thread(Client.create)
    get = _in_thread(Client.get)
    apply = _in_thread(Client.apply)
    update = _in_thread(Client.update)
    delete = _in_thread(Client.delete)
    pause = _in_thread(Client.pause)
    resume = _in_thread(Client.resume)
    trigger = _in_thread(Client.trigger)
    backfill = _in_thread(Client.backfill)
    next = _in_thread(Client.next)
    preview = _in_thread(Client.preview)
    compare = _in_thread(Client.compare)
    plan_pause = _in_thread(Client.plan_pause)
    plan_backfill = _in_thread(Client.plan_backfill)
    explain = _in_thread(Client.explain)
    pause_all = _in_thread(Client.pause_all)
    resume_all = _in_thread(Client.resume_all)
    trigger_all = _in_thread(Client.trigger_all)
    redrive_all = _in_thread(Client.redrive_all)
    plan_bulk = _in_thread(Client.plan_bulk)
    stats = _in_thread(Client.stats)
    load = _in_thread(Client.load)
    running = _in_thread(Client.running)
    workers = _in_thread(Client.workers)
    next_runs = _in_thread(Client.next_runs)
    attention = _in_thread(Client.attention)
    me = _in_thread(Client.me)
    periods = _in_thread(Client.periods)
    periods_around = _in_thread(Client.periods_around)
    run = _in_thread(Client.run)
    redrive = _in_thread(Client.redrive)
    why = _in_thread(Client.why)
    history = _in_thread(Client.history)
    report = _in_thread(Client.report)
    calendar = _in_thread(Client.calendar)
    webhook_secrets = _in_thread(Client.webhook_secrets)
    deploy = _in_thread(Client.deploy)
    request = _in_thread(Client.request)
