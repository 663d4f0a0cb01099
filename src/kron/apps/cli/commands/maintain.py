"""`kron maintain`: run the hourly maintenance of workers now: create upcoming partitions, remove old records."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.console import Screen
from kron.apps.wiring import POSTGRES, durable, open_store
from kron.engine.maintenance import DAY_MS
from kron.engine.store import Maintained


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Create the partitions of the next weeks and remove old records."""
    result = asyncio.run(_maintain(args.store, args.retention_days))
    for verb, names in (("created", result.made), ("dropped", result.dropped), ("kept, still needed:", result.kept)):
        for name in names:
            screen.line(f"{verb} {name}")
    partition_counts = f"{len(result.made)} created, {len(result.dropped)} dropped, {len(result.kept)} kept"
    screen.note(f"partitions: {partition_counts}; {result.removed} old records removed")
    return 0


async def _maintain(url: str, days: int | None) -> Maintained:
    if url.partition(":")[0] in POSTGRES:
        durable(url)
        from kron.stores.postgres.maintain import maintain

        return await maintain(url, keep_days=days)
    removed, keep = 0, None if days is None else days * DAY_MS
    async with open_store(url) as store:
        while True:
            result = await store.maintain(await store.now(), keep)
            removed += result.removed
            if not result.more:
                return result._replace(removed=removed)
