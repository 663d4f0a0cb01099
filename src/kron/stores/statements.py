"""Statements by their names, as a `queries.sql` gives them: a line `-- name: what it is for`, then the SQL."""

from __future__ import annotations

import re

_NAME = re.compile(r"^-- ([a-z_]+): .+$", re.MULTILINE)


def named(text: str) -> dict[str, str]:
    """The statements of a text, each under its name."""
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}
