"""Chart of the minutes of an hour: a bar for each minute; the busiest ones stand out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 600, 100
BAR_SHARE = 0.8  # of the width that each minute has


def minutes_chart(runs: Sequence[int], scale: int = 0) -> Markup:
    """Return the chart. The table next to it tells the same in words. `scale` is the least height of its scale."""
    top, step = max(scale, *runs, 0), WIDTH / max(1, len(runs))
    bars = [_bar(number * step, step, count / top, count == top) for number, count in enumerate(runs) if count]
    return Markup(
        '<svg class="chart ns h110" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="m-line" d="M0 {}h{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, HEIGHT, WIDTH, Markup("").join(bars))


def _bar(x: float, step: float, share: float, is_top: bool) -> Markup:
    height = max(1.0, HEIGHT * share)
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
        "m-fail" if is_top else "m-acc", x, HEIGHT - height, step * BAR_SHARE, height
    )
