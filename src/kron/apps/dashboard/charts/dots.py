"""Chart of lateness: a dot for each run on a logarithmic scale, with the deadline as a dashed line."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kron.apps.dashboard.charts.scale import log_share, log_ticks

WIDTH, HEIGHT = 1_000, 104
TOP, BASE = 4, 100
SIDE = 10  # left and right of the first and the last dot
MAX_DOTS = 100


def lateness_ticks(lateness: Sequence[int | None], deadline: int | None) -> tuple[int, ...]:
    """Return the ticks of the scale in milliseconds, from 0 up."""
    return log_ticks(max([deadline or 0, *(value for value in lateness if value is not None)]))


def lateness_chart(lateness: Sequence[int | None], deadline: int | None, label: str) -> Markup:
    """Return the chart.

    Args:
        lateness: Milliseconds between the due time and the start of each period, oldest first; None: it did not start.
            At most 100 are drawn.
        deadline: Maximum lateness in milliseconds; None: no limit.
        label: What the chart shows, in words.
    """
    shown = lateness[-MAX_DOTS:]
    ticks = lateness_ticks(shown, deadline)
    step = (WIDTH - 2 * SIDE) / max(1, len(shown) - 1)
    grid = "".join(f"M0 {_y(tick, ticks):.1f}h{WIDTH}" for tick in ticks[1:])
    marks = [_mark(SIDE + number * step, value, ticks) for number, value in enumerate(shown)]
    cap = (
        "" if deadline is None else Markup('<path class="m-cap" d="M0 {:.1f}h{}"/>').format(_y(deadline, ticks), WIDTH)
    )
    return Markup(
        '<svg class="chart ns h150" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="m-grid" d="{}"/><path class="m-line" d="M0 {}h{}"/>{}{}</svg>'
    ).format(WIDTH, HEIGHT, label, grid, BASE, WIDTH, cap, Markup("").join(marks))


def _mark(x: float, lateness: int | None, ticks: Sequence[int]) -> Markup:
    if lateness is None:
        return Markup('<path class="s-miss" d="M{:.1f} {}v6"/>').format(x, BASE - 4)
    return Markup('<path class="dot s-ok d6" d="M{:.1f} {:.1f}h.01"/>').format(x, _y(lateness, ticks))


def _y(duration: int, ticks: Sequence[int]) -> float:
    return BASE - (BASE - TOP) * log_share(duration, ticks)
