"""Named SQL statements of a `queries.sql` file: a line `-- name: purpose`, then the SQL."""

from __future__ import annotations

import re

_NAME = re.compile(r"^-- ([a-z_]+): .+$", re.MULTILINE)


def named(text: str) -> dict[str, str]:
    """Return the statements of a text by name."""
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}
