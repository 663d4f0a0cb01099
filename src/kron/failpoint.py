"""Fail points: named places between the steps of the protocol, at which a test may end or stop the process.

`KRON_FAILPOINT=K6:3:kill` kills it at the third passage of K6, `stop` stops it. Without that variable a passage is
nothing. The names are those of docs/guarantees.md.
"""

from __future__ import annotations

import os
import signal

POINTS = {
    "K0": "before schedules are read",
    "K1": "they are read, and nothing is written",
    "K2": "a transaction is written, and not committed",
    "K3": "it is committed, and nobody has heard",
    "K4": "a claim is committed, and nothing is sent",
    "K5": "a request is half sent",
    "K6": "it has its effect, and there is no answer",
    "K7": "there is an answer, and it is not recorded",
    "K8": "it is recorded, and nobody has heard",
    "K9": "a lease is renewed, and nothing else is done",
    "K10": "runs of the dead are found, and not written",
    "K11": "a request of a user is planned, and not written",
    "K12": "a migration is half done",
}
_SIGNALS = {"kill": "SIGKILL", "stop": "SIGSTOP"}  # by name: Windows has neither
_asked = os.environ.get("KRON_FAILPOINT", "")
_passed = 0


def fail_point(name: str) -> None:
    """Pass a point: nothing happens, unless a test has asked for it."""
    if _asked and name and _asked.startswith(f"{name}:"):
        _fail()


def _fail() -> None:
    global _passed
    _, passage, deed = _asked.split(":")
    _passed += 1
    if _passed == int(passage):
        os.kill(os.getpid(), getattr(signal, _SIGNALS[deed]))
