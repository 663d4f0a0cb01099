"""Vitals of the store, for Prometheus: what no process can say of itself, asked when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from kron.errors import KronError
from kron.store import Store

WORDS = {
    "kron_store_up": "Whether the store answers.",
    "kron_workers": "Workers that live.",
    "kron_schedules_unlaunchable": "Schedules that are due and whose target no living worker can launch.",
    "kron_schedules_set_aside": "Schedules that could not be read or committed, and are looked at later.",
    "kron_schedules_waiting": "Schedules whose time has come and that nobody has looked at.",
    "kron_schedules_waiting_seconds": "For how long the first of them has waited.",
}


@runtime_checkable
class Vital(Protocol):
    """A store that several share, and that knows how it goes with the whole."""

    async def vitals(self) -> dict[str, int]:
        """Numbers by their names."""


async def vital_lines(store: Store) -> str:
    """The vitals in the text format of Prometheus; nothing of a store that nobody shares."""
    if not isinstance(store, Vital):
        return ""
    try:
        found = await store.vitals()
    except KronError:
        return "\n".join(_lines({"kron_store_up": 0})) + "\n"
    values = {
        "kron_store_up": 1,
        "kron_workers": found["workers"],
        "kron_schedules_unlaunchable": found["unlaunchable"],
        "kron_schedules_set_aside": found["aside"],
        "kron_schedules_waiting": found["waiting"],
        "kron_schedules_waiting_seconds": found["oldest"] / 1000,
    }
    return "\n".join(_lines(values)) + "\n"


def _lines(values: dict[str, float]) -> Iterator[str]:
    for name, value in values.items():
        yield from (f"# HELP {name} {WORDS[name]}", f"# TYPE {name} gauge", f"{name} {value}")
