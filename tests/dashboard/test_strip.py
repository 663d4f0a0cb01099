"""The strip of a day: bars in their places, on two scales, that never leave the picture."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.charts.progress import progress
from kron.apps.dashboard.charts.strip import ABOVE, AXIS, BELOW, HEIGHT, WIDTH, StripBar, strip

BARS = st.lists(st.builds(StripBar, *[st.integers(0, 5_000)] * 5), min_size=1, max_size=144)
PATH = re.compile(r'<path class="(m-(?:ok|come|fail|miss|skip))" d="([^"]*)"/>')
RECT = re.compile(r"M([\d.-]+) ([\d.-]+)h([\d.]+)v([\d.]+)h-([\d.]+)z")


def rectangles(picture):
    """Return all bars of a picture: kind, place and size."""
    bars = []
    for name, path in PATH.findall(str(picture)):
        assert RECT.sub("", path) == "", "a path has rectangles only"
        for x, y, width, height, back in RECT.findall(path):
            assert width == back
            bars.append((name, float(x), float(y), float(width), float(height)))
    return bars


@given(BARS, st.floats(0, 144))
def test_bars_stay_in_the_picture_and_on_their_side(bars, now):
    for name, x, y, width, height in rectangles(strip(bars, now, "words")):
        assert 0 <= x <= x + width <= WIDTH + 0.2
        if name in ("m-ok", "m-come"):
            assert y >= AXIS - ABOVE - 1
            assert y + height <= AXIS
        else:
            assert y >= AXIS
            assert y + height <= HEIGHT + 0.5


@given(BARS)
def test_every_number_has_a_bar_and_larger_ones_are_longer(bars):
    found = rectangles(strip(bars, 0, "words"))
    for name, field in (("m-ok", "executed"), ("m-come", "coming"), ("m-fail", "failed"), ("m-miss", "missed")):
        assert sum(each[0] == name for each in found) == sum(getattr(bar, field) > 0 for bar in bars)
    counts = [bar.executed for bar in bars if bar.executed]
    heights = [each[4] for each in found if each[0] == "m-ok"]
    order = sorted(range(len(counts)), key=counts.__getitem__)
    assert [heights[n] for n in order] == sorted(heights)


@given(BARS)
def test_largest_number_of_each_side_has_the_longest_bar(bars):
    bars = [bar._replace(coming=0) for bar in bars]
    found = rectangles(strip(bars, 0, "words"))
    for longest, names, most in (
        (ABOVE, ("m-ok",), max(bar.executed for bar in bars)),
        (BELOW, ("m-fail", "m-miss", "m-skip"), max(bar.trouble for bar in bars)),
    ):
        lengths = {}
        for name, x, _, _, height in found:
            if name in names:
                lengths[x] = lengths.get(x, 0) + height
        assert not most or abs(max(lengths.values()) - longest) < 0.3


@given(BARS)
def test_trouble_has_a_scale_of_its_own(bars):
    """More runs above the line change nothing below it."""
    busier = [bar._replace(executed=bar.executed + 100_000) for bar in bars]

    def below(picture):
        return [each for each in rectangles(picture) if each[0] not in ("m-ok", "m-come")]

    assert below(strip(bars, 0, "words")) == below(strip(busier, 0, "words"))


@given(st.integers(0, 10_000_000), st.integers(1, 10_000_000))
def test_progress_never_leaves_its_bar(elapsed, usual):
    picture = str(progress(elapsed, usual))
    width = int(re.search(r'class="m-(?:run|miss)" width="(\d+)"', picture)[1])
    assert 0 <= width <= 100
    assert ("m-miss" in picture) == (elapsed > usual)
