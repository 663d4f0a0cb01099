"""For tests of schedules, stores and launchers: time that passes at once, and roads on which messages get lost.

Nothing here is a mock. The loop is the stock one of asyncio with another idea of time, and what goes wrong
goes wrong around the real parts: before a call arrives, or after it has done its work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.testing.claims import assert_fires, assert_survives
    from kron.testing.clock import VirtualClock, VirtualTimer
    from kron.testing.launcher import FaultyLauncher
    from kron.testing.loop import Deadlock, VirtualLoop, run
    from kron.testing.road import Clear, Road, Rough, RoughRoad
    from kron.testing.store import FaultyStore
    from kron.testing.trip import Trip, instant_at, travel

__all__ = [
    "Clear",
    "Deadlock",
    "FaultyLauncher",
    "FaultyStore",
    "Road",
    "Rough",
    "RoughRoad",
    "Trip",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimer",
    "assert_fires",
    "assert_survives",
    "instant_at",
    "run",
    "travel",
]

_HOMES = {
    "kron.testing.claims": ("assert_fires", "assert_survives"),
    "kron.testing.clock": ("VirtualClock", "VirtualTimer"),
    "kron.testing.launcher": ("FaultyLauncher",),
    "kron.testing.loop": ("Deadlock", "VirtualLoop", "run"),
    "kron.testing.road": ("Clear", "Road", "Rough", "RoughRoad"),
    "kron.testing.store": ("FaultyStore",),
    "kron.testing.trip": ("Trip", "instant_at", "travel"),
}


def __getattr__(name: str) -> Any:
    """A name, from its home; loaded when it is asked for, so that the plugin costs nothing where nobody uses it."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'kron.testing' has no attribute {name!r}")
    return getattr(import_module(home), name)
