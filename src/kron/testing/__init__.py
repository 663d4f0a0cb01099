"""For tests of schedules, stores and launchers: time that passes at once, and roads on which messages get lost.

Nothing here is a mock. The loop is the stock one of asyncio with another idea of time, and what goes wrong
goes wrong around the real parts: before a call arrives, or after it has done its work.
"""

from kron.testing.clock import VirtualClock, VirtualTimer
from kron.testing.launcher import FaultyLauncher
from kron.testing.loop import Deadlock, VirtualLoop, run
from kron.testing.road import Clear, Road, Rough, RoughRoad
from kron.testing.store import FaultyStore

__all__ = [
    "Clear",
    "Deadlock",
    "FaultyLauncher",
    "FaultyStore",
    "Road",
    "Rough",
    "RoughRoad",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimer",
    "run",
]
