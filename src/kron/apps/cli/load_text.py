"""Load in the output of commands: the busiest minute as text and as JSON."""

from __future__ import annotations

from typing import Any

from kron.language.density import Load
from kron.timing.zone import rfc3339


def peak_text(minute_load: Load) -> str:
    """Return the runs of the busiest minute, with that minute if there is one."""
    count, minute = minute_load.peak
    return f"{count} ({rfc3339(minute)})" if count else "0"


def load_record(minute_load: Load) -> dict[str, Any]:
    """Return a load as JSON."""
    count, minute = minute_load.peak
    return {
        "runs": minute_load.total,
        "peak": count,
        "peak_at": rfc3339(minute) if count else None,
        "busiest_minute_by_hour": minute_load.by_hour(),
    }
