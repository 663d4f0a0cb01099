"""Collector of reference cycles: it runs rarely in the processes of Kron, which create few cycles.

With the defaults of Python it takes much of a worker's time, and a full collection delays all pages of a dashboard.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (100_000, 50, 50)  # objects, young collections, and collections of the second generation


def collect_rarely() -> None:
    """Let collections come rarely. What is in memory now, such as modules, is not searched by them any more."""
    gc.set_threshold(*_THRESHOLDS)
    gc.freeze()
