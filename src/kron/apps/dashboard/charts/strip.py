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
_PATH = Markup('<path class="{}" d="{}"/>')
_PARTS = ("m-come", "m-ok", "m-fail", "m-miss", "m-skip")  # in the order in which they are drawn


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
    shapes: dict[str, list[str]] = {name: [] for name in _PARTS}
    for number, bar in enumerate(bars):
        x, width = number * step + step * 0.1, step * 0.78
        for name, count in (("m-come", bar.coming), ("m-ok", bar.executed)):
            if count:
                height = length_of(count, most_above, ABOVE)
                shapes[name].append(_rectangle(x, AXIS - 0.5 - height, width, height))
        for name, y, height in _below(bar, most_below):
            shapes[name].append(_rectangle(x, y, width, height))
    paths = Markup("").join(_PATH.format(name, "".join(parts)) for name, parts in shapes.items() if parts)
    svg = Markup(
        '<svg class="chart ns h140" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="m-line" d="M0 {}h{}"/>{}<path class="m-now" d="M{:.1f} -4v134"/></svg>'
    )
    return svg.format(WIDTH, HEIGHT, label, AXIS, WIDTH, paths, min(WIDTH, now * step))


def length_of(count: int, most: int, longest: float) -> float:
    """Return the length of a bar: the square root of its part of the largest number, and never too short to see."""
    return max(3.0, longest * sqrt(count / most)) if count else 0.0


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle as a part of a path: one path for all bars of a kind is much shorter than their elements."""
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z"


def _below(bar: StripBar, most: int) -> list[tuple[str, float, float]]:
    """Return the stacked trouble of one interval as kinds, places and lengths: each has its share of the length."""
    total, y, parts = length_of(bar.trouble, most, BELOW), BELOW_TOP, list[tuple[str, float, float]]()
    for name, count in (("m-fail", bar.failed), ("m-miss", bar.missed), ("m-skip", bar.skipped)):
        if count:
            height = total * count / bar.trouble
            parts.append((name, y, height))
            y += height
    return parts
