"""Service manager: tells systemd about the state of the daemon, as sd_notify does, with datagrams to its socket."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class ServiceManager:
    """Socket of the service manager. Without one, nothing is sent."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self.address = "\0" + address[1:] if address.startswith("@") else address
        watched_pid = environment.get("WATCHDOG_PID", "")
        self.has_watchdog = "WATCHDOG_USEC" in environment and watched_pid in ("", str(os.getpid()))

    def ready(self, status: str) -> None:
        """Tell that the daemon works, after its start or after a reload. `status` is one line for people."""
        self._send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Tell that the daemon reads its tables."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """Tell that the daemon ends."""
        self._send("STOPPING=1")

    def keep_alive(self) -> None:
        """Tell that the daemon makes progress. The service manager kills a daemon that does not for too long."""
        if self.has_watchdog:
            self._send("WATCHDOG=1")

    def _send(self, *assignments: str) -> None:
        """Send assignments. A service manager that does not read them must not stop the daemon."""
        if not self.address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.setblocking(False)
            channel.sendto("\n".join(assignments).encode(), self.address)
