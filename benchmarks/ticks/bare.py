"""A bare statement: what due rows cost a server if nobody asks why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.postgres import connect

from benchmarks.ticks.jobs import START
from kron.stores.statements import named

SQL = named(Path(__file__).with_name("statements.sql").read_text(encoding="utf-8"))


class Bare:
    """A bare statement on a table of its own, batch after batch, over one connection."""

    def __init__(self, url: str, table: str, count: int) -> None:
        self.connection, self.table, self.count = connect(url, autocommit=True), table, count
        self.say(f"make_{table}")
        self.say(f"fill_{table}", due=START, count=count)

    def say(self, query: str, **values: int) -> Any:
        """Run a named statement."""
        return self.connection.execute(SQL[query].encode(), values or None)

    def prepare(self, due: int) -> None:
        """Nothing to do: it has put all of them where they belong."""

    def tick(self, due: int) -> int:
        """Handle all that is due."""
        done = 0
        while done < self.count:
            done += self.say(f"tick_{self.table}", due=due).fetchone()[0]
        return done
