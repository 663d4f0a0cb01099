"""Spark: the newest periods of a schedule in a row. Each outcome has a shape of its own, and not only a color."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kron.apps.dashboard.period_mark import MARKS, PeriodMark, words_of

STEP = 9  # units of the picture for one period
SHAPES = {  # by icon, around the middle of the period
    "i-ok": Markup('<path class="s-ok w5" d="M{} 2v16"/>'),
    "i-fail": Markup('<path class="m-fail" d="M{} 2m-2.5 0h5v6l-5 2zm0 10.5l5-2v7.5h-5z"/>'),
    "i-dead": Markup('<path class="s-fail ln" d="M{} 10m-3-5l6 10m0-10l-6 10"/>'),
    "i-lost": Markup('<path class="s-fail ho" d="M{} 2.7m-2 0h4v14.6h-4z"/>'),
    "i-miss": Markup('<path class="s-miss ho" d="M{} 2.7m-2 0h4v14.6h-4z"/>'),
    "i-skip": Markup('<path class="m-skip" d="M{} 9m-3 0h6v2.2h-6z"/>'),
    "i-uns": Markup('<path class="m-uns" d="M{} 5l3.3 5-3.3 5-3.3-5z"/>'),
    "i-run": Markup('<path class="m-run" d="M{} 9m-2.5 0h5v9h-5z"/>'),
    "i-due": Markup('<path class="m-skip" d="M{} 15m-2.5 0h5v3h-5z"/>'),
    "i-late": Markup('<path class="m-miss" d="M{} 15m-2.5 0h5v3h-5z"/>'),
}


def spark(marks: Sequence[PeriodMark]) -> Markup:
    """Return the picture of at most 14 periods, oldest first. The newest one is at the right edge."""
    newest = marks[-MARKS:]
    first = MARKS - len(newest)
    shapes = Markup("").join(
        SHAPES[mark.look.icon].format((first + number) * STEP + STEP // 2) for number, mark in enumerate(newest)
    )
    label = f"Last {len(newest)} periods, oldest first: {words_of(newest)}" if newest else "No period yet"
    svg = Markup('<svg class="spark" viewBox="0 0 {} 20" role="img" aria-label="{}">{}</svg>')
    return svg.format(MARKS * STEP, label, shapes)
