"""Fail points: named places between the steps of the protocol, at which a test can kill or stop the process.

`KRON_FAILPOINT=K6:3:kill` kills the process when it passes K6 for the third time; `stop` stops it. Without the
variable, a fail point does nothing. The names are those of docs/evaluate/guarantees.md.
"""

from __future__ import annotations

import os
import signal

POINTS = {
    "K0": "before schedules are read",
    "K1": "schedules read, nothing written",
    "K2": "transaction written, not committed",
    "K3": "transaction committed, not acknowledged",
    "K4": "claim committed, nothing sent",
    "K5": "request partially sent",
    "K6": "request processed by the target, no response yet",
    "K7": "response received, not recorded",
    "K8": "response recorded, not acknowledged",
    "K9": "shard lease renewed, nothing else done",
    "K10": "runs of dead workers found, nothing written",
    "K11": "user request planned, not written",
    "K12": "migration partially applied",
}
_SIGNALS = {"kill": "SIGKILL", "stop": "SIGSTOP"}  # by name, because Windows has neither signal
_requested = os.environ.get("KRON_FAILPOINT", "")
_pass_count = 0


def fail_point(name: str) -> None:
    """Pass a fail point. Nothing happens unless a test has requested it."""
    if _requested and name and _requested.startswith(f"{name}:"):
        _fail()


def _fail() -> None:
    global _pass_count
    _, pass_number, action = _requested.split(":")
    _pass_count += 1
    if _pass_count == int(pass_number):
        os.kill(os.getpid(), getattr(signal, _SIGNALS[action]))
