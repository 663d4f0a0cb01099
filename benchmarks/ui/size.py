"""Sizes of the benchmark. The environment sets others."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How much is seeded and measured.

    Attributes:
        schedules: Number of schedules.
        days: Length of the run ledger in days.
        requests: Timed requests to each address.
        load_scopes: Number of tenants for which the upcoming load is written, in addition to that of all schedules.
    """

    schedules: int = 1_000_000
    days: int = 30
    requests: int = 50  # p99 of four addresses is not their slowest answer
    load_scopes: int = 40


def size_from_environment() -> Size:
    """Return the size that `KRON_UI_SCHEDULES`, `KRON_UI_DAYS` and `KRON_UI_REQUESTS` set."""
    default = Size()
    return Size(
        int(os.environ.get("KRON_UI_SCHEDULES", default.schedules)),
        int(os.environ.get("KRON_UI_DAYS", default.days)),
        int(os.environ.get("KRON_UI_REQUESTS", default.requests)),
    )
