"""Chart of durations: a bar for each run; a bar that is much longer than usual stands out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kron.apps.dashboard.charts.scale import round_up

WIDTH, HEIGHT = 1_000, 100
MAX_BARS = 100
BAR_SHARE = 0.75  # of the width that each run has
LONG = 1.3  # times the usual duration


def duration_top(durations: Sequence[int]) -> int:
    """Return the upper end of the axis in milliseconds: the first round value that no bar exceeds."""
    return round_up(max(durations, default=0))


def duration_chart(durations: Sequence[int], usual: int, label: str) -> Markup:
    """Return the chart.

    Args:
        durations: Milliseconds, oldest run first. At most 100 are drawn.
        usual: Usual duration in milliseconds. Bars that are more than 1.3 times as long stand out.
        label: What the chart shows, in words.
    """
    shown = durations[-MAX_BARS:]
    top, step = duration_top(shown), WIDTH / max(1, len(shown))
    bars = [
        _bar(number * step, step, duration / top, is_long=duration > usual * LONG)
        for number, duration in enumerate(shown)
    ]
    return Markup(
        '<svg class="chart ns h150" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="m-grid" d="M0 {}h{}"/><path class="m-line" d="M0 {}h{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, label, HEIGHT // 2, WIDTH, HEIGHT, WIDTH, Markup("").join(bars))


def _bar(x: float, step: float, share: float, *, is_long: bool) -> Markup:
    height = HEIGHT * min(1.0, share)
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
        "m-miss" if is_long else "m-acc", x, HEIGHT - height, step * BAR_SHARE, height
    )
