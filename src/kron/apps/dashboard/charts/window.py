"""Chart of a window: where the run may be placed and how likely, the chosen second, and the start."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from kron.timing.decision import violated_clause
from kron.timing.due import window_extent
from kron.timing.job import Job
from kron.timing.schedule.sampling import UNIFORM
from kron.timing.zone import rfc3339, rfc3339_ms

WIDTH = 1_000
MARGIN = 54  # on each side, for starts that are later than the window
COLUMNS = 40  # parts of the window whose likelihood is drawn
FULL_HEIGHT_DENSITY = 2.4  # times the density of a uniform window; more is cut off
MIN_AXIS_SECONDS = 1  # a schedule without a window has no extent of its own


class WindowAxis(NamedTuple):
    """Horizontal axis of one or more windows, in seconds relative to the nominal time."""

    first: int
    last: int

    def x(self, offset: float) -> float:
        """Return the position of an offset in seconds. Offsets beyond the axis are in the margins."""
        inner = WIDTH - 2 * MARGIN
        return min(WIDTH - 4.0, max(4.0, MARGIN + inner * (offset - self.first) / (self.last - self.first)))


class Placement(NamedTuple):
    """Period as its chart shows it.

    Attributes:
        job: The job, by the revision that decided the period.
        nominal: Nominal time in seconds.
        due: Due time in milliseconds; None if no second satisfies the constraints.
        started: When the run started, in milliseconds; None if it did not.
        is_failed: Whether the run could not be launched, or failed.
    """

    job: Job
    nominal: int
    due: int | None
    started: int | None = None
    is_failed: bool = False


def window_axis(job: Job) -> WindowAxis:
    """Return the axis of the windows of a job. A job without a window has an axis of one second."""
    before, after = window_extent(job)
    return WindowAxis(-before, max(after, MIN_AXIS_SECONDS - before))


def window_chart(placement: Placement, axis: WindowAxis, height: int) -> Markup:
    """Return the chart of one window.

    Args:
        placement: The period.
        axis: The axis, which other windows can share.
        height: Height of the view box. The last 6 units are below the base line.
    """
    job, nominal = placement.job, placement.nominal
    before, after = window_extent(job)
    base, left, right = height - 6, axis.x(-before), axis.x(after)
    frame = Markup(
        '<svg class="ns chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    )
    parts = Markup("").join(
        (
            Markup('<rect class="m-win" x="{:.1f}" y="2" width="{:.1f}" height="{}"/>').format(
                left, right - left, base - 2
            ),
            _density(placement, axis, base),
            Markup('<path class="m-line" d="M0 {}h{}"/>').format(base, WIDTH),
            Markup('<path class="s-nom" d="M{:.1f} {}v8"/>').format(axis.x(0), base - 4),
            _marks(placement, axis, base),
        )
    )
    return frame.format(WIDTH, height, _label(nominal - before, nominal + after, placement), parts)


def density_heights(placement: Placement) -> list[float]:
    """Return the likelihood of each part of the window, from 0 to 1, with 0 where the constraints exclude its middle.

    A uniform window has the height 1 / FULL_HEIGHT_DENSITY everywhere.
    """
    schedule, (before, after) = placement.job.schedule, window_extent(placement.job)
    if not before + after:
        return []
    distribution = UNIFORM if schedule.policy.jitter else schedule.distribution
    window, seconds = schedule.window, before + after + 1
    edges = [distribution.below(i / COLUMNS, window.anchor, window.duration or 1) for i in range(COLUMNS + 1)]
    heights = [min(1.0, (upto - from_) * COLUMNS / FULL_HEIGHT_DENSITY) for from_, upto in pairwise(edges)]
    if schedule.policy.jitter:  # the constraints do not apply to jitter
        return heights
    middles = (placement.nominal - before + (2 * column + 1) * seconds // (2 * COLUMNS) for column in range(COLUMNS))
    return [
        0.0 if violated_clause(schedule, second) else height for second, height in zip(middles, heights, strict=True)
    ]


def _density(placement: Placement, axis: WindowAxis, base: int) -> Markup:
    heights = density_heights(placement)
    if not heights:
        return Markup("")
    before, after = window_extent(placement.job)
    left, right = axis.x(-before), axis.x(after)
    step, top = (right - left) / COLUMNS, base - 3
    ys = [f"{base - top * height:.1f}" for height in heights]
    middles = [f"L{left + (column + 0.5) * step:.0f} {y}" for column, y in enumerate(ys)]
    outline = f"M{left:.0f} {base}V{ys[0]}{''.join(middles)}L{right:.0f} {ys[-1]}V{base}z"
    return Markup('<path class="m-dens" d="{}"/>').format(outline)


def _marks(placement: Placement, axis: WindowAxis, base: int) -> Markup:
    """Return the chosen second, and the start below it."""
    nominal_ms, marks = placement.nominal * 1000, Markup("")
    if placement.due is not None:
        x = axis.x((placement.due - nominal_ms) / 1000)
        marks += Markup('<path class="m-pick" d="M{:.1f} 1v{}"/>').format(x, base - 1)
    if placement.started is not None:
        x = axis.x((placement.started - nominal_ms) / 1000)
        shape = "sq s-fail" if placement.is_failed else "dot s-ok"
        marks += Markup('<path class="{}" d="M{:.1f} {}h.01"/>').format(shape, x, base)
    return marks


def _label(first: int, last: int, placement: Placement) -> str:
    window = f"Window {rfc3339(first)} to {rfc3339(last)}" if first < last else "No window"
    chosen = "no second chosen" if placement.due is None else f"chosen {rfc3339_ms(placement.due)}"
    started = "" if placement.started is None else f", started {rfc3339_ms(placement.started)}"
    return f"{window}, {chosen}{started}"
