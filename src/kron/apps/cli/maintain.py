"""`kron maintain`: make the partitions of the coming weeks, and drop old ones."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.screen import Screen
from kron.apps.wiring import durable


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Maintain the ledger."""
    url = durable(args.store)
    from kron.stores.postgres.maintain import maintain

    done = asyncio.run(maintain(url, keep_days=args.keep))
    for verb, names in (("made", done.made), ("dropped", done.dropped), ("kept, with open runs", done.kept)):
        for name in names:
            screen.line(f"{verb} {name}")
    screen.note(f"{len(done.made)} made, {len(done.dropped)} dropped, {len(done.kept)} kept for their open runs")
    return 0
