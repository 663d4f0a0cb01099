"""Strip: the periods of a day in bars, those that were executed above a line and trouble below it.

Both sides have a scale of their own, so that 3 failures among 300 runs are seen. The scales are square roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT = 1000, 130
AXIS = 92.5
ABOVE, BELOW = 86.0, 32.0  # longest bar on each side
BELOW_TOP = 96.0
_RECT = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')


class StripBar(NamedTuple):
    """Number of periods in one interval, by what became of them."""

    executed: int = 0
    failed: int = 0
    missed: int = 0
    skipped: int = 0
    coming: int = 0

    @property
    def trouble(self) -> int:
        """Number of periods below the line."""
        return self.failed + self.missed + self.skipped


def strip(bars: Sequence[StripBar], now: float, label: str) -> Markup:
    """Return the picture.

    Args:
        bars: Intervals of equal length, oldest first.
        now: Position of the present, in intervals from the beginning.
        label: What the picture shows, in words.
    """
    step = WIDTH / max(1, len(bars))
    most_above = max((max(bar.executed, bar.coming) for bar in bars), default=0)
    most_below = max((bar.trouble for bar in bars), default=0)
    rectangles = list[Markup]()
    for number, bar in enumerate(bars):
        x, width = number * step + step * 0.1, step * 0.78
        for name, count in (("m-come", bar.coming), ("m-ok", bar.executed)):
            height = length_of(count, most_above, ABOVE)
            rectangles += [_RECT.format(name, x, AXIS - 0.5 - height, width, height)] if count else []
        rectangles += _below(bar, most_below, x, width)
    svg = Markup(
        '<svg class="chart ns h140" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="m-line" d="M0 {}h{}"/>{}<path class="m-now" d="M{:.1f} -4v134"/></svg>'
    )
    return svg.format(WIDTH, HEIGHT, label, AXIS, WIDTH, Markup("").join(rectangles), min(WIDTH, now * step))


def length_of(count: int, most: int, longest: float) -> float:
    """Return the length of a bar: the square root of its part of the largest number, and never too short to see."""
    return max(3.0, longest * sqrt(count / most)) if count else 0.0


def _below(bar: StripBar, most: int, x: float, width: float) -> list[Markup]:
    """Return the stacked trouble of one interval: each part has its share of the length."""
    total, y, parts = length_of(bar.trouble, most, BELOW), BELOW_TOP, list[Markup]()
    for name, count in (("m-fail", bar.failed), ("m-miss", bar.missed), ("m-skip", bar.skipped)):
        if count:
            height = total * count / bar.trouble
            parts.append(_RECT.format(name, x, y, width, height))
            y += height
    return parts
