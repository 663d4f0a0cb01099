"""Rows of the load: the counters of an hour as text, and its schedule texts as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kron.rules.load import LoadHour, LoadKind


def write_hour(hour: LoadHour) -> dict[str, Any]:
    """Return the columns of an hour."""
    return {
        "scope": hour.scope,
        "hour": hour.hour,
        "counts": ",".join(map(str, hour.counts)),
        "kinds": json.dumps(hour.kinds),
        "written_at": hour.written,
    }


def read_hour(scope: str, row: Sequence[Any]) -> LoadHour:
    """Return the hour of a row."""
    hour, counts, kinds, written = row
    return LoadHour(
        scope, hour, tuple(map(int, counts.split(","))), tuple(LoadKind(*kind) for kind in json.loads(kinds)), written
    )
