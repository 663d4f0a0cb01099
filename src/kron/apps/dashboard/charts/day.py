"""Chart of a day: the shares of its periods that succeeded, that had trouble, and that are still to come."""

from __future__ import annotations

from markupsafe import Markup

WIDTH, HEIGHT = 100, 6
MIN_WIDTH = 4  # a little trouble among many successes stays visible


def day_widths(fine: int, troubled: int) -> tuple[float, float]:
    """Return the widths of the two parts. Each part that has a period is visible."""
    total = fine + troubled
    if not total:
        return 0.0, 0.0
    trouble = 0.0 if not troubled else min(max(MIN_WIDTH, WIDTH * troubled / total), WIDTH - MIN_WIDTH * bool(fine))
    return WIDTH - trouble, trouble


def day_chart(fine: int, troubled: int, elapsed: float) -> Markup:
    """Return the chart of one day.

    Args:
        fine: Periods that succeeded or are active.
        troubled: Periods with any other outcome.
        elapsed: Share of the day that has passed, from 0 to 1. The rest is still to come.
    """
    passed = WIDTH * min(1.0, max(0.0, elapsed))
    fine_width, trouble_width = (width * passed / WIDTH for width in day_widths(fine, troubled))
    part = Markup('<rect class="{}" x="{:.1f}" width="{:.1f}" height="{}"/>')
    rest = (("m-ok", 0.0, fine_width), ("m-fail", fine_width, trouble_width), ("m-come", passed, WIDTH - passed))
    parts = [part.format(tone, x, width, HEIGHT) for tone, x, width in rest if width > 0]
    return Markup(
        '<svg class="chart ns" viewBox="0 0 {0} {1}" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="m-win" width="{0}" height="{1}"/>{2}</svg>'
    ).format(WIDTH, HEIGHT, Markup("").join(parts))
