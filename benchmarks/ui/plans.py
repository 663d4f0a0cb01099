"""Plans: the queries that a page really sent, as `auto_explain` logged them, and what is wrong with their plans.

The store forbids sequential scans (`enable_seqscan = off`). The planner then still uses one where no index fits, with a
huge cost. So the node itself is looked for, and not its cost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.postgres import Server

SETTINGS = {  # without the minimum duration, which is switched: a setting of the command line cannot be changed
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "log_line_prefix": "%p:%v:",
}
SMALL_TABLES = frozenset({"workers", "kinds", "event_ring", "retention", "workflows", "kron_migrations"})
EVENT_TABLES = frozenset({"events", "event_ring"})
SCANS_OF_ALL = frozenset({"Seq Scan", "Bitmap Heap Scan", "Tid Scan"})  # and of block ranges
INVERTED_INDEXES = frozenset({"schedule_names_trigrams"})  # GIN: PostgreSQL reads them by bitmaps only
_ROW_COUNTS = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
_ENTRY = re.compile(r"^(\d+):([^:]*):LOG:  duration: [^\n]*plan:\n((?:\t[^\n]*\n)+)", re.MULTILINE)


class Query(NamedTuple):
    """Query that was sent. `transaction` tells which ones were asked at once."""

    transaction: str
    text: str
    plan: dict[str, Any]

    @property
    def nodes(self) -> Iterator[dict[str, Any]]:
        """All nodes of the plan."""
        waiting = [self.plan]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.get("Plans", [])

    @property
    def scans(self) -> list[str]:
        """Tables that grow and that were scanned as a whole."""
        return sorted(
            {
                node["Relation Name"]
                for node in self.nodes
                if node["Node Type"] in SCANS_OF_ALL
                and node.get("Plans", [{}])[0].get("Index Name") not in INVERTED_INDEXES
                and node["Relation Name"] not in SMALL_TABLES
                and node.get("Actual Loops", 1)
            }
        )

    @property
    def rows_read(self) -> int:
        """Number of rows that scans of tables read, including those that a filter removed."""
        return sum(
            round(sum(node.get(count, 0) for count in _ROW_COUNTS) * node.get("Actual Loops", 1))
            for node in self.nodes
            if "Relation Name" in node
        )


class PlanLog:
    """Log of a server, read from one request to the next."""

    def __init__(self, server: Server) -> None:
        self.server, self.path = server, Path(server.folder) / "log"
        self.position = self.path.stat().st_size

    def switch(self, *, is_on: bool) -> None:
        """Begin or stop to log the plans of all queries, also in sessions that exist."""
        self.server.sql(f"ALTER SYSTEM SET auto_explain.log_min_duration = {0 if is_on else -1}")
        self.server.sql("SELECT pg_reload_conf()")

    def read(self) -> list[Query]:
        """Return the queries of the store since the last call."""
        with self.path.open("rb") as file:
            file.seek(self.position)
            text = file.read().decode()
        self.position += len(text.encode())
        return list(queries_of(text))


def queries_of(text: str) -> Iterator[Query]:
    """Yield the queries of a part of a log that read tables, except the event ring: pages do not wait for it."""
    for pid, transaction, body in _ENTRY.findall(text):
        entry = json.loads(body)
        query = Query(f"{pid}:{transaction}", entry["Query Text"], entry["Plan"])
        if any(node.get("Relation Name", "events") not in EVENT_TABLES for node in query.nodes):
            yield query
