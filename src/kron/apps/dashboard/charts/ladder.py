"""Chart of the periods of a schedule: one line a period, all on one axis, so that their chosen seconds compare."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kron.apps.dashboard.charts.window import Placement, WindowAxis, window_axis, window_chart

LINE_HEIGHT = 26
MAX_TICKS = 3


def common_axis(placements: Sequence[Placement]) -> WindowAxis:
    """Return the axis on which all of the windows fit. Revisions can have windows of different lengths.

    Args:
        placements: The periods, at least one.
    """
    axes = [window_axis(placement.job) for placement in placements]
    return WindowAxis(min(axis.first for axis in axes), max(axis.last for axis in axes))


def ladder_lines(placements: Sequence[Placement]) -> list[Markup]:
    """Return the chart of each period, on the axis that they share."""
    if not placements:
        return []
    axis = common_axis(placements)
    return [window_chart(placement, axis, LINE_HEIGHT) for placement in placements]


def axis_ticks(axis: WindowAxis) -> list[int]:
    """Return the offsets in seconds that are written at the axis, evenly spaced: both ends and the middle."""
    middle = (axis.first + axis.last) // 2
    return sorted({axis.first, middle, axis.last})[:MAX_TICKS]
