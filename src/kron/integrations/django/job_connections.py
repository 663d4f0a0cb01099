"""Database connections of jobs: no job inherits a connection that has become unusable, and none is left open."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from kron.launchers.python import plain


def with_own_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that closes connections around each call.

    A plain job has a thread of its own, so its connections are closed at its end, whatever `CONN_MAX_AGE` says. Async
    jobs share Django's thread for database calls, where old connections are closed, as after a request.
    """
    if plain(function):

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            close_old_connections()
            try:
                return function(*args, **kwargs)
            finally:
                connections.close_all()

        return call

    @functools.wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        await sync_to_async(close_old_connections)()
        try:
            return await function(*args, **kwargs)
        finally:
            await sync_to_async(close_old_connections)()

    return call_async
