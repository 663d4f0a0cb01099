"""Reaper: as process 1 of a container, the daemon waits for the processes that others have left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, nullcontext

from kron.engine.background import in_background
from kron.launchers.command.launcher import CommandLauncher

LOOK_SECONDS = 1.0  # between two looks; a process is reaped by the second look after its end at the latest


def reaping(launcher: CommandLauncher, own: Collection[int]) -> AbstractAsyncContextManager[None]:
    """Reap orphans while the body of the `with` statement runs, if this is process 1.

    Args:
        launcher: Launcher whose commands are not orphans.
        own: Other children that this process waits for. The set can change.
    """
    return in_background(_reap(launcher, own)) if os.getpid() == 1 else nullcontext()


async def _reap(launcher: CommandLauncher, own: Collection[int]) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        await launcher.reap_orphans(own)
