"""Quiet moment: a time that is far from the periods of a CronJob and of its KronJob.

A period that is near the moment could run for both, because each controller may be late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

QUIET_SECONDS = 30  # since the last period of either
MARGIN_SECONDS = 20  # until the next period of either: the requests of a switch take less
MAX_WAIT_SECONDS = 3_600


class Span(NamedTuple):
    """Time in seconds in which a period may run: its nominal time, and the whole of its window."""

    first: int
    last: int


def quiet_moment(spans: Iterable[Span], now: int) -> int | None:
    """Return the first quiet moment from now on; None if there is none within `MAX_WAIT_SECONDS`."""
    moment = now
    for span in sorted(spans):
        if span.first <= moment + MARGIN_SECONDS and span.last > moment - QUIET_SECONDS:
            moment = span.last + QUIET_SECONDS
    return moment if moment <= now + MAX_WAIT_SECONDS else None
