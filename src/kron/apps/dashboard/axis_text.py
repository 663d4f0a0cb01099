"""Words at the axis of windows: clock times if all periods share them, otherwise the distance from the nominal time."""

from __future__ import annotations

from collections.abc import Sequence

from kron.apps.dashboard.charts.ladder import axis_ticks
from kron.apps.dashboard.charts.window import MIN_AXIS_SECONDS, WindowAxis
from kron.apps.dashboard.time_text import span_text
from kron.timing.zone import Zone

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def axis_texts(axis: WindowAxis, nominals: Sequence[int], zone: Zone) -> list[str]:
    """Return the words at the ends and in the middle of an axis; none if no period has a window.

    Args:
        axis: The axis.
        nominals: Nominal times (seconds) of the periods that share the axis.
        zone: Zone of the clock times.
    """
    if axis.last - axis.first <= MIN_AXIS_SECONDS:
        return []
    ticks = axis_ticks(axis)
    clocks = {tuple(_clock(zone, nominal + tick) for tick in ticks) for nominal in nominals}
    return list(clocks.pop()) if len(clocks) == 1 else [offset_text(tick) for tick in ticks]


def _clock(zone: Zone, t: int) -> str:
    wall = zone.wall(t)
    return f"{wall.hour:02d}:{wall.minute:02d}" + (f":{wall.second:02d}" if wall.second else "")


def offset_text(seconds: int) -> str:
    """Return the distance from the nominal time: `nominal`, `+1 h` or `−45 min`."""
    if not seconds:
        return "nominal"
    return f"{'+' if seconds > 0 else '−'}{tick_text(abs(seconds) * 1000)}"


def tick_text(milliseconds: int) -> str:
    """Return a round duration in one unit, such as `10 min`; another one as `span_text` does."""
    unit = next(((size, name) for size, name in _UNITS if milliseconds and milliseconds % size == 0), None)
    return f"{milliseconds // unit[0]} {unit[1]}" if unit else span_text(milliseconds) if milliseconds else "0"
