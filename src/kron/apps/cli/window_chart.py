"""Chart of a window: probability of each part, parts that the constraints exclude, and the chosen second."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kron.timing.decision import Decision, violated_clause
from kron.timing.zone import Zone

_BARS = " ▁▂▃▄▅▆▇█"
_ROWS = 3


def picture(decision: Decision, width: int) -> Iterator[str]:
    """Yield the lines of the chart, at most `width` columns wide."""
    window = decision.window
    seconds = window.last - window.origin + 1
    columns = max(1, min(width - 4, 72, seconds))
    heights = _heights(decision, columns)
    for row in range(_ROWS - 1, -1, -1):
        bar = "".join(_BARS[max(0, min(8, height - 8 * row))] for height in heights).rstrip()
        if bar:
            yield f"  {bar}"
    yield "  " + "".join("·" if excluded else "─" for excluded in _excluded_columns(decision, columns, seconds))
    if decision.chosen is not None:
        column = min(columns - 1, (decision.chosen - window.origin) * columns // seconds)
        yield "  " + " " * column + "▲ " + _clock(decision.schedule.zone, decision.chosen)
    zone = decision.schedule.zone
    start, end = _clock(zone, window.first), _clock(zone, window.last)
    yield "  " + start + end.rjust(max(columns - len(start), len(end) + 1))
    if decision.schedule.constraints.only or decision.schedule.constraints.avoid:
        yield "  · excluded by the constraints"


def _heights(decision: Decision, columns: int) -> list[int]:
    """Return the probability of each column in eighths of a row: 8 if uniform, at most three rows."""
    window, below = decision.schedule.window, decision.schedule.distribution.below
    edges = [below(i / columns, window.anchor, window.duration) for i in range(columns + 1)]
    return [min(8 * _ROWS, max(1, round((after - before) * columns * 8))) for before, after in pairwise(edges)]


def _excluded_columns(decision: Decision, columns: int, seconds: int) -> Iterator[bool]:
    """Yield for each column whether the constraints exclude its middle."""
    window = decision.window
    for column in range(columns):
        middle = window.origin + (2 * column + 1) * seconds // (2 * columns)
        yield bool(violated_clause(decision.schedule, max(window.first, middle)))


def _clock(zone: Zone, t: int) -> str:
    wall = zone.wall(t)
    return f"{wall.hour:02d}:{wall.minute:02d}:{wall.second:02d}"
