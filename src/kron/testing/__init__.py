"""Tools for tests of schedules, stores and launchers: virtual time and fault injection.

Nothing here is a mock. The event loop is the standard asyncio loop with virtual time. Faults are injected around the
real components: before a call arrives, or after the call has done its work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.testing.assertions import assert_fires, assert_survives
    from kron.testing.clock import VirtualClock, VirtualTimer
    from kron.testing.faulty_launcher import FaultyLauncher
    from kron.testing.faulty_store import FaultyStore
    from kron.testing.loop import Deadlock, VirtualLoop, run
    from kron.testing.network import FaultProfile, FaultyNetwork, Network, ReliableNetwork
    from kron.testing.time_travel import VirtualTime, instant_at, travel

__all__ = [
    "Deadlock",
    "FaultProfile",
    "FaultyLauncher",
    "FaultyNetwork",
    "FaultyStore",
    "Network",
    "ReliableNetwork",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTime",
    "VirtualTimer",
    "assert_fires",
    "assert_survives",
    "instant_at",
    "run",
    "travel",
]

_HOMES = {
    "kron.testing.assertions": ("assert_fires", "assert_survives"),
    "kron.testing.clock": ("VirtualClock", "VirtualTimer"),
    "kron.testing.faulty_launcher": ("FaultyLauncher",),
    "kron.testing.loop": ("Deadlock", "VirtualLoop", "run"),
    "kron.testing.network": ("FaultProfile", "FaultyNetwork", "Network", "ReliableNetwork"),
    "kron.testing.faulty_store": ("FaultyStore",),
    "kron.testing.time_travel": ("VirtualTime", "instant_at", "travel"),
}


def __getattr__(name: str) -> Any:
    """Return a public name from its module. The import is deferred so that an unused pytest plugin costs nothing."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'kron.testing' has no attribute {name!r}")
    return getattr(import_module(home), name)
