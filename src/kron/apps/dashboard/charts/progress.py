"""Progress: how long a run has taken, against how long it usually takes."""

from __future__ import annotations

from markupsafe import Markup

from kron.apps.dashboard.time_text import span_text


def progress(elapsed: int, usual: int) -> Markup:
    """Return the picture of a run; times in milliseconds. A run that takes longer than usual has another color."""
    is_longer = elapsed > usual
    width = 100 if is_longer else elapsed * 100 // max(1, usual)
    label = f"{span_text(elapsed)} of usually {span_text(usual)}"
    svg = Markup(
        '<svg class="chart ns h8" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="m-win" width="100" height="8"/><rect class="{}" width="{}" height="8"/></svg>'
    )
    return svg.format(label, "m-miss" if is_longer else "m-run", width)
