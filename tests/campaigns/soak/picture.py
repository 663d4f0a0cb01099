"""Samples -> a picture of them, in SVG: small panels above one another, with one axis of time."""

from html import escape

WIDTH, HEIGHT, LEFT, GAP = 720, 110, 64, 34
COLOURS = ("#2563eb", "#dc2626")


def picture(samples, title):
    """The whole picture."""
    panels = [
        ("table of what is due and its indexes, MB", [_of(samples, "table", 1e6), _of(samples, "indexes", 1e6)]),
        ("dead rows in it", [_of(samples, "dead")]),
        ("from due to done, p50 and p99, seconds", [_of(samples, "p50", 1e3), _of(samples, "p99", 1e3)]),
        ("the ledger, MB: it grows with every run", [_of(samples, "ledger", 1e6)]),
    ]
    height = GAP + len(panels) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="13">{escape(title)}</text>',
    ]
    last = samples[-1].at or 1.0
    for n, (name, lines) in enumerate(panels):
        parts += _panel(name, lines, [s.at for s in samples], last, GAP + n * (HEIGHT + GAP))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _of(samples, name, unit=1):
    return [getattr(sample, name) / unit for sample in samples]


def _panel(name, lines, times, last, top):
    most = max(max(line) for line in lines) or 1.0
    bottom, width = top + HEIGHT, WIDTH - LEFT - 12
    yield f'<text x="{LEFT}" y="{top + 12}" fill="#444">{escape(name)}</text>'
    yield f'<path d="M{LEFT} {top + 18}V{bottom}H{LEFT + width}" fill="none" stroke="#999"/>'
    for value, y in ((most, top + 22), (0, bottom)):
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end" fill="#444">{value:.3g}</text>'
    for minutes in (0, last / 60):
        x = LEFT + width * minutes * 60 / last
        yield f'<text x="{x:.0f}" y="{bottom + 13}" text-anchor="middle" fill="#444">{minutes:.0f} min</text>'
    for colour, line in zip(COLOURS, lines, strict=False):
        points = " ".join(
            f"{LEFT + width * at / last:.1f},{bottom - (HEIGHT - 22) * value / most:.1f}"
            for at, value in zip(times, line, strict=True)
        )
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
