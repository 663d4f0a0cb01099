"""Store health for Prometheus: values that no single process knows, queried on each scrape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from kron.engine.store import Store
from kron.errors import KronError

HELP_TEXTS = {
    "kron_store_up": "Whether the store answers (1) or not (0).",
    "kron_workers": "Live workers.",
    "kron_schedules_unlaunchable": "Due schedules whose target no live worker can launch.",
    "kron_schedules_set_aside": "Schedules that could not be read or committed and are retried later.",
    "kron_schedules_overdue": "Due schedules that no worker has handled yet.",
    "kron_schedules_overdue_max_seconds": "Waiting time of the oldest waiting schedule, in seconds.",
}


@runtime_checkable
class HealthReporting(Protocol):
    """A shared store that reports its overall health."""

    async def health(self) -> dict[str, int]:
        """Return the values by name."""


async def health_lines(store: Store) -> str:
    """Return the store health in Prometheus text format; empty for a store that is not shared."""
    if not isinstance(store, HealthReporting):
        return ""
    try:
        health = await store.health()
    except KronError:
        return "\n".join(_lines({"kron_store_up": 0})) + "\n"
    values = {
        "kron_store_up": 1,
        "kron_workers": health["workers"],
        "kron_schedules_unlaunchable": health["unlaunchable"],
        "kron_schedules_set_aside": health["aside"],
        "kron_schedules_overdue": health["waiting"],
        "kron_schedules_overdue_max_seconds": health["oldest"] / 1000,
    }
    return "\n".join(_lines(values)) + "\n"


def _lines(values: dict[str, float]) -> Iterator[str]:
    for name, value in values.items():
        yield from (f"# HELP {name} {HELP_TEXTS[name]}", f"# TYPE {name} gauge", f"{name} {value}")
