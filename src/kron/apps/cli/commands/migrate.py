"""`kron migrate`: create or update the PostgreSQL tables of Kron."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.console import Screen
from kron.apps.plural import plural
from kron.apps.wiring import durable


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Run the outstanding migrations and create the partitions of the next weeks."""
    url = durable(args.store)
    from kron.stores.postgres.maintain import maintain
    from kron.stores.postgres.migrate import migrate

    migrations = asyncio.run(migrate(url, dry=args.dry_run))
    if args.dry_run:
        for migration in migrations:
            screen.line(f"-- {migration.name}")
            screen.block(migration.sql)
        screen.note(f"{plural(len(migrations), 'migration')} would run")
        return 0
    for migration in migrations:
        screen.line(f"ran     {migration.name}")
    for name in asyncio.run(maintain(url)).made:
        screen.line(f"created {name}")
    screen.note(f"{plural(len(migrations), 'migration')} ran" if migrations else "nothing to migrate")
    return 0
