"""`krontab remove`: remove a table. The records of its jobs stay."""

from __future__ import annotations

import argparse

from kron.apps.cli.console import Screen
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.question import confirmed
from kron.apps.krontab.table_writer import check_name, read_content, remove
from kron.errors import NotFound


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Remove the table after a question. Returns 1 if the answer is no."""
    place = read_place(args)
    name = check_name(place, args.table)
    if read_content(place, name) is None:
        raise NotFound("NOT_FOUND", f"{place.config} has no table {name!r}", hint="krontab -l lists the tables")
    if not args.yes and not confirmed(f"remove table {name}?", screen, default=False):
        screen.note(f"table {name} stays")
        return 1
    remove(place, name, screen)
    return 0
