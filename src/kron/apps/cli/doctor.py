"""`kron doctor`: what is wrong with a store, and what would do."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict
from typing import Any

from kron.apps.cli.screen import Screen
from kron.apps.wiring import durable, open_store
from kron.clock import SystemClock
from kron.within import EVERYWHERE, keep_within

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Examine a store. 1 if anything is an error."""
    found = asyncio.run(_examine(durable(args.store)))
    if args.format == "json":
        screen.json([asdict(one) for one in found])
    else:
        for one in found:
            screen.line(
                f"{screen.paint(screen.out, _COLOURS[one.level], one.level.ljust(8))} {one.check}: {one.message}"
            )
            if one.hint:
                screen.line(f"         hint: {one.hint}")
    return int(any(one.level == "error" for one in found))


async def _examine(url: str) -> list[Any]:
    from kron.stores.postgres.doctor import examine

    keep_within(EVERYWHERE)  # the role of the API sees nothing unless it says so
    async with open_store(url) as store:
        return await examine(url, store, SystemClock())  # type: ignore[arg-type]
