"""SQL statements of the PostgreSQL store, by name."""

from __future__ import annotations

from pathlib import Path

from kron.stores.statements import named

QUERIES = {
    name: sql.encode() for name, sql in named(Path(__file__).with_name("queries.sql").read_text("utf-8")).items()
}
