"""Statements by their names, as `queries.sql` gives them: a line `-- name: what it is for`, then the SQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"^-- ([a-z_]+): .+$", re.MULTILINE)


def named(text: str) -> dict[str, str]:
    """The statements of a text, each under its name."""
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


def one_by_one(text: str) -> Iterator[str]:
    """The statements of a script, in order; a trigger with the statements inside it is one."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


QUERIES = named(Path(__file__).with_name("queries.sql").read_text(encoding="utf-8"))
SCHEMA = tuple(one_by_one(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")))
