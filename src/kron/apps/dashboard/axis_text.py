"""Words at the axis of windows: clock times if all periods share them, otherwise the distance from the nominal time."""

from __future__ import annotations

from collections.abc import Sequence

from kron.apps.dashboard.charts.ladder import axis_ticks
from kron.apps.dashboard.charts.window import WindowAxis
from kron.apps.dashboard.time_text import DAY, duration_text
from kron.timing.zone import Zone


def axis_texts(axis: WindowAxis, nominals: Sequence[int], zone: Zone) -> list[str]:
    """Return the words at the ends and in the middle of an axis.

    Args:
        axis: The axis.
        nominals: Nominal times (seconds) of the periods that share the axis.
        zone: Zone of the clock times.
    """
    return [_tick_text(tick, nominals, zone) for tick in axis_ticks(axis)]


def _tick_text(offset: int, nominals: Sequence[int], zone: Zone) -> str:
    """Return a clock time, if the tick stands for the same one in all periods."""
    walls = [zone.wall(nominal + offset) for nominal in nominals]
    clocks = {(wall.hour, wall.minute, wall.second) for wall in walls}
    if len(clocks) != 1:
        return offset_text(offset)
    hour, minute, second = clocks.pop()
    return f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")


def offset_text(seconds: int) -> str:
    """Return the distance from the nominal time: `nominal`, `+1 h` or `−45 min`."""
    if not seconds:
        return "nominal"
    size = abs(seconds)
    unit = next((each for each in ((DAY, "d"), (3_600, "h"), (60, "min")) if size % each[0] == 0), None)
    text = f"{size // unit[0]} {unit[1]}" if unit else duration_text(size)
    return f"{'+' if seconds > 0 else '−'}{text}"
