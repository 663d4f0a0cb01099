"""HTTP API client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from kron.client.blocking import Client
from kron.client.results import Schedule

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


class AsyncClient:
    """Client for asyncio with the methods of `Client` as coroutines: each call runs `Client` in a thread.

    Arguments, results and errors are those of `Client`. `schedules` returns a list.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
    """

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        self.plain = Client(url, token, timeout=timeout)

    async def schedules(
        self, prefix: str = "", paused: bool | None = None, page: int = 100, *, labels: Mapping[str, str] | None = None
    ) -> list[Schedule]:
        """Return the schedules in the order of their ids, with one request per page. Arguments as in `Client`."""
        return await asyncio.to_thread(lambda: list(self.plain.schedules(prefix, paused, page, labels=labels)))

    get = _in_thread(Client.get)
    apply = _in_thread(Client.apply)
    delete = _in_thread(Client.delete)
    pause = _in_thread(Client.pause)
    resume = _in_thread(Client.resume)
    trigger = _in_thread(Client.trigger)
    backfill = _in_thread(Client.backfill)
    next = _in_thread(Client.next)
    preview = _in_thread(Client.preview)
    runs = _in_thread(Client.runs)
    run = _in_thread(Client.run)
    dead_letters = _in_thread(Client.dead_letters)
    redrive = _in_thread(Client.redrive)
    why = _in_thread(Client.why)
    report = _in_thread(Client.report)
    request = _in_thread(Client.request)
