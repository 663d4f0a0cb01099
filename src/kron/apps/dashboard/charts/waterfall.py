"""Chart of the attempts of a run: one line an attempt, with the time until its result and the wait before the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT = 1_000, 14
MIN_WIDTH = 4  # a short attempt stays visible


class Bar(NamedTuple):
    """Attempt on the axis, in milliseconds since the begin of the axis."""

    start: int
    end: int
    next_start: int | None  # start of the next attempt; None for the last one
    is_ok: bool


def axis_end(bars: Sequence[Bar]) -> int:
    """Return the end of the axis in milliseconds: the end of the last attempt, and at least 1."""
    return max([1, *(max(bar.start, bar.end) for bar in bars)])


def attempt_chart(bar: Bar, end: int) -> Markup:
    """Return the line of one attempt on an axis that ends at `end` milliseconds."""
    x, right = _x(bar.start, end), _x(bar.end, end)
    wait_end = right if bar.next_start is None else max(right, _x(bar.next_start, end))
    width = max(MIN_WIDTH, right - x)
    tone = "m-ok" if bar.is_ok else "m-fail"
    return Markup(
        '<svg class="chart ns h14" viewBox="0 0 {0} {1}" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="m-win" width="{0}" height="{1}"/>'
        '<rect class="m-come" x="{2:.1f}" y="5" width="{3:.1f}" height="4"/>'
        '<rect class="{4}" x="{5:.1f}" width="{6:.1f}" height="{1}"/></svg>'
    ).format(WIDTH, HEIGHT, right, wait_end - right, tone, min(x, WIDTH - width), width)


def _x(at: int, end: int) -> float:
    return WIDTH * min(1.0, max(0.0, at / end))
