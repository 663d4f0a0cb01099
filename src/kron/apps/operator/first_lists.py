"""First lists: what an operator waits for before it plans."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kron.engine.events import Event, Sink
from kron.kube.mirror import Mirror

WAITING_SECONDS = 10.0  # between two signs that the API server has not answered yet


async def first_lists(mirrors: Sequence[Mirror[Any]], stop: asyncio.Event, sink: Sink) -> bool:
    """Wait until all mirrors have a complete list. Returns False if the operator is to stop before."""
    stopped = asyncio.ensure_future(stop.wait())
    waits = {asyncio.ensure_future(mirror.synced.wait()) for mirror in mirrors}
    try:
        while not all(mirror.synced.is_set() for mirror in mirrors):
            await asyncio.wait({stopped, *waits}, timeout=WAITING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                return False
            waits = {wait for wait in waits if not wait.done()}
            failure = next((mirror.failure for mirror in mirrors if mirror.failure), None)
            if waits and failure:
                sink(Event("operator_waiting", 0, {"error": str(failure)}))
        return True
    finally:
        for wait in (stopped, *waits):
            wait.cancel()
