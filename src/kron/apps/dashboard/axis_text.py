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
    return f"{'+' if seconds > 0 else '−'}{tick_text(abs(seconds) * 1000)}"


def tick_text(milliseconds: int) -> str:
    """Return a round duration in one unit, such as `10 min`; another one as `span_text` does."""
    unit = next(((size, name) for size, name in _UNITS if milliseconds and milliseconds % size == 0), None)
    return f"{milliseconds // unit[0]} {unit[1]}" if unit else span_text(milliseconds) if milliseconds else "0"
