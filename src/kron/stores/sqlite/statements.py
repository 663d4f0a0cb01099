"""SQL statements of the SQLite store, and those that create its tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kron.stores.statements import named


def one_by_one(text: str) -> Iterator[str]:
    """Yield the statements of a script in order. A trigger with its inner statements is one statement."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


QUERIES = named(Path(__file__).with_name("queries.sql").read_text(encoding="utf-8"))
SCHEMA = tuple(one_by_one(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")))


@cache
def insertion(query: str, count: int) -> tuple[str, list[str]]:
    """Return a named INSERT for `count` rows, and the names of the values of each row."""
    head, _, values = QUERIES[query].partition("VALUES")
    names = re.findall(r":(\w+)", values)
    row = f"({', '.join('?' for _ in names)})"
    return f"{head}VALUES {', '.join([row] * count)};", names
