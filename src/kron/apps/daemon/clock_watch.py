"""Clock watch: the kernel tells when the clock of the host is set, and when the host wakes up from suspend.

A timerfd that is armed for a distant time is canceled by each jump of the clock. Slow corrections do not cancel it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Event, Sink

CLOCK_REALTIME, ABSOLUTE, CANCEL_ON_SET = 0, 1, 2
DISTANT_SECOND = 1 << 33  # year 2242
COUNT_BYTES = 8  # of one read


class _Setting(ctypes.Structure):
    """`struct itimerspec`: the interval, then the time."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every", "every_ns", "second", "second_ns"))


class ClockWatch:
    """Watch of the host's clock. After a jump, `on_jump` is called, and an event has the time before and after.

    Attributes:
        descriptor: Readable after a jump; None if the system cannot tell of jumps.
    """

    def __init__(self, sink: Sink, on_jump: Callable[[], None], clock: Clock | None = None) -> None:
        self.sink, self.on_jump = sink, on_jump
        self.clock, self.timer, self.descriptor = clock or SystemClock(), SystemTimer(), _open()
        self.known = self.clock.now(), self.timer.monotonic()
        if self.descriptor is not None and not _arm(self.descriptor):
            self.close()

    def look(self) -> None:
        """Read the descriptor. After a jump, log it, watch for the next one, and call `on_jump`."""
        if self.descriptor is None or not _is_canceled(self.descriptor):
            return
        (clock_before, timer_before), self.known = self.known, (self.clock.now(), self.timer.monotonic())
        clock_after, timer_after = self.known
        expected = clock_before + timer_after - timer_before
        _arm(self.descriptor)
        facts = {"before": round(expected * 1000), "after": round(clock_after * 1000)}
        self.sink(Event("clock_jumped", facts["after"], facts))
        self.on_jump()

    def close(self) -> None:
        """Stop watching."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def _is_canceled(descriptor: int) -> bool:
    try:
        os.read(descriptor, COUNT_BYTES)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno != errno.ECANCELED:
            raise
    return True  # also in the distant second, so that the timer is armed again


def _arm(descriptor: int) -> bool:
    setting = _Setting(0, 0, DISTANT_SECOND, 0)
    return bool(_library().timerfd_settime(descriptor, ABSOLUTE | CANCEL_ON_SET, ctypes.byref(setting), None) == 0)


def _open() -> int | None:
    """Return a new timerfd; None if the system has none."""
    with suppress(OSError, AttributeError):
        descriptor: int = _library().timerfd_create(CLOCK_REALTIME, os.O_NONBLOCK | os.O_CLOEXEC)
        return None if descriptor < 0 else descriptor
    return None


@lru_cache(1)
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.timerfd_create.argtypes = (ctypes.c_int, ctypes.c_int)
    library.timerfd_settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return library
