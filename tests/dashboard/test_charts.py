"""Charts: everything is inside the view box, what is later is further right or higher, and no text is in a chart."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kron
from kron.apps.dashboard.charts.bars import duration_chart, duration_top
from kron.apps.dashboard.charts.day import day_chart, day_widths
from kron.apps.dashboard.charts.dots import lateness_chart, lateness_ticks
from kron.apps.dashboard.charts.ladder import axis_ticks, common_axis, ladder_lines
from kron.apps.dashboard.charts.scale import log_share, log_ticks, round_up
from kron.apps.dashboard.charts.waterfall import Bar, attempt_chart, axis_end
from kron.apps.dashboard.charts.window import COLUMNS, Placement, density_heights, window_axis, window_chart
from kron.timing.decision import decide, violated_clause
from kron.timing.due import due_of, window_extent
from kron.timing.job import Job
from kron.timing.period import Period, next_nominal

NOW = 1_792_658_537  # 2026-10-22T08:42:17Z
NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")
DISTRIBUTIONS = [
    "uniform",
    "skewEarly",
    "skewLate,shape=0.5",
    "exponential,lambda=3,dir=late",
    "normal",
    "normal,mu=end",
]
durations = st.integers(0, 40 * 86_400_000)


@st.composite
def placements(draw):
    """A period of a schedule with a window or without one, in a zone with clock changes."""
    mode, seconds = draw(st.sampled_from(["after", "around"])), draw(st.integers(0, 7_200))
    window = f" @win({mode},{seconds}s) @dist({draw(st.sampled_from(DISTRIBUTIONS))})" if seconds else ""
    only = draw(st.sampled_from(["", " @only(hours=0-12)", " @avoid(between=02:00-03:30)"]))
    text = f"{draw(st.integers(0, 59))} {draw(st.integers(0, 23))} * * * @tz(Europe/Paris){window}{only}"
    job = Job(draw(st.text("abc", min_size=1, max_size=4)), kron.parse(text, dialect="kron"))
    nominal = next_nominal(job.schedule, NOW + draw(st.integers(-(10**8), 10**8)))
    due = due_of(job, nominal)
    started = draw(st.none() | st.integers(0, 10**8).map(lambda late: due.at + late))
    return Placement(job, nominal, due.at if due.schedulable else None, started, draw(st.booleans()))


def drawn(chart):
    """Parse a chart, and return its elements with the numbers of their attributes."""
    root = ET.fromstring(chart)
    assert "".join(root.itertext()) == ""
    assert not re.search(r"style=|<script|\son[a-z]+=|<text", chart)
    _, _, width, height = map(float, root.get("viewBox").split())
    for element in root:
        numbers = {k: [float(n) for n in NUMBER.findall(v)] for k, v in element.attrib.items() if k != "class"}
        assert all(0 <= x <= width for x in numbers.get("x", []))
        if "width" in numbers:
            assert numbers.get("x", [0])[0] + numbers["width"][0] <= width + 0.11
            assert numbers.get("y", [0])[0] + numbers["height"][0] <= height + 0.11
            assert numbers["width"][0] >= 0 and numbers["height"][0] >= 0
    return root


def points(element):
    """Return the start of each stroke of a path, with absolute coordinates."""
    return [tuple(map(float, pair)) for pair in re.findall(r"M([\d.]+) ([\d.]+)", element.get("d"))]


def of_class(root, name):
    return [element for element in root if name in element.get("class", "").split()]


@given(placements())
def test_chosen_second_is_inside_its_window(placement):
    axis = window_axis(placement.job)
    root = drawn(window_chart(placement, axis, 64))
    (window,) = of_class(root, "m-win")
    left, width = float(window.get("x")), float(window.get("width"))
    picks = of_class(root, "m-pick")
    assert len(picks) == (placement.due is not None)
    for pick in picks:
        assert left - 0.11 <= points(pick)[0][0] <= left + width + 0.11


@given(placements())
def test_start_is_never_left_of_the_chosen_second_and_failures_have_another_shape(placement):
    root = drawn(window_chart(placement, window_axis(placement.job), 26))
    starts = of_class(root, "s-fail" if placement.is_failed else "s-ok")
    assert len(starts) == (placement.started is not None)
    if starts and placement.due is not None:
        assert points(starts[0])[0][0] >= points(of_class(root, "m-pick")[0])[0][0]


@given(placements())
def test_density_is_that_of_the_distribution_and_none_where_the_constraints_exclude(placement):
    """Oracle: the probability mass that the distribution states for each part."""
    heights, (before, after) = density_heights(placement), window_extent(placement.job)
    assume(before + after)
    assert len(heights) == COLUMNS and all(0 <= height <= 1 for height in heights)
    schedule, seconds = placement.job.schedule, before + after + 1
    for column, height in enumerate(heights):
        middle = placement.nominal - before + (2 * column + 1) * seconds // (2 * COLUMNS)
        mass = [
            schedule.distribution.below((column + i) / COLUMNS, schedule.window.anchor, schedule.window.duration)
            for i in (0, 1)
        ]
        expected = 0 if violated_clause(schedule, middle) else min(1, (mass[1] - mass[0]) * COLUMNS / 2.4)
        assert height == pytest.approx(expected)


def test_likely_seconds_are_drawn_higher():
    """A draw of many identities falls where the chart is high."""
    schedule = kron.parse("0 0 * * * @win(after,1h) @dist(skewEarly)", dialect="kron")
    nominal = next_nominal(schedule, NOW)
    heights = density_heights(Placement(Job("a", schedule), nominal, None))
    offsets = [decide(schedule, Period(nominal), f"job{n}").chosen - nominal for n in range(2_000)]
    counts = [sum(90 * c <= offset < 90 * (c + 1) for offset in offsets) for c in range(COLUMNS)]
    assert heights[0] > heights[20] > heights[39] and counts[0] > counts[20] > counts[39]
    assert counts[20] / 2_000 == pytest.approx(heights[20] * 2.4 / COLUMNS, abs=0.01)


def test_jitter_is_a_uniform_window_on_both_sides():
    from dataclasses import replace

    schedule = kron.parse("0 0 * * *", dialect="kron")
    job = Job("a", replace(schedule, policy=replace(schedule.policy, jitter=30_000_000_000)))
    nominal = next_nominal(job.schedule, NOW)
    placement = Placement(job, nominal, due_of(job, nominal).at)
    assert window_axis(job) == (-30, 30)
    assert density_heights(placement) == pytest.approx([1 / 2.4] * COLUMNS)


@settings(max_examples=30)
@given(st.lists(placements(), min_size=1, max_size=6))
def test_ladder_has_one_axis_and_later_offsets_are_further_right(lines):
    axis = common_axis(lines)
    picks = []
    for placement, chart in zip(lines, ladder_lines(lines), strict=True):
        root = drawn(chart)
        if placement.due is not None:
            picks.append((placement.due - placement.nominal * 1000, points(of_class(root, "m-pick")[0])[0][0]))
    assert [x for _, x in sorted(picks)] == sorted(x for _, x in picks)
    ticks = axis_ticks(axis)
    assert ticks == sorted(ticks) and (ticks[0], ticks[-1]) == axis
    assert all(54 <= axis.x(tick) <= 946 for tick in ticks)


def test_ladder_without_periods_is_empty():
    assert ladder_lines([]) == []


@given(durations, st.lists(durations, min_size=2, max_size=8))
def test_log_scale_is_monotone_with_evenly_spaced_ticks(longest, values):
    ticks = log_ticks(longest)
    assert ticks[-1] >= min(longest, 30 * 86_400_000)
    shares = [log_share(value, ticks) for value in sorted(values)]
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)
    for number, tick in enumerate(ticks):
        assert log_share(tick, ticks) == pytest.approx(number / (len(ticks) - 1))


@given(durations)
def test_round_duration_is_the_first_that_is_long_enough(duration):
    assert round_up(duration) >= min(duration, 30 * 86_400_000)
    assert round_up(round_up(duration)) == round_up(duration)


@given(st.lists(st.none() | durations, max_size=120), st.none() | durations)
def test_dots_are_higher_for_later_starts_and_below_the_deadline_if_in_time(lateness, deadline):
    root = drawn(lateness_chart(lateness, deadline, "x"))
    shown = lateness[-100:]
    dots, missing = of_class(root, "dot"), of_class(root, "s-miss")
    assert (len(dots), len(missing)) == (sum(v is not None for v in shown), sum(v is None for v in shown))
    heights = [points(dot)[0][1] for dot in dots]
    by_lateness = sorted(zip([v for v in shown if v is not None], heights, strict=True))
    assert [y for _, y in by_lateness] == sorted(heights, reverse=True)
    assert all(4 <= y <= 100 for y in heights)
    caps = of_class(root, "m-cap")
    assert len(caps) == (deadline is not None)
    for value, y in by_lateness if caps else ():
        assert (y >= points(caps[0])[0][1]) or value > deadline
    positions = [points(each)[0][0] for each in root if each in dots or each in missing]
    assert positions == sorted(positions)
    assert lateness_ticks(shown, deadline)[0] == 0


@given(st.lists(durations, max_size=120), durations)
def test_bars_are_as_high_as_their_durations(values, usual):
    root = drawn(duration_chart(values, usual, "x"))
    shown, bars = values[-100:], of_class(root, "m-acc") + of_class(root, "m-miss")
    assert len(bars) == len(shown)
    top = duration_top(shown)
    bars.sort(key=lambda bar: float(bar.get("x")))
    for value, bar in zip(shown, bars, strict=True):
        assert float(bar.get("height")) == pytest.approx(100 * min(1, value / top), abs=0.06)
        assert ("m-miss" in bar.get("class")) == (value > 1.3 * usual)


@given(st.lists(st.tuples(durations, durations, st.booleans()), min_size=1, max_size=10))
def test_attempts_begin_in_order_and_the_wait_ends_where_the_next_begins(spans):
    spans.sort()
    starts = [start for start, _, _ in spans]
    bars = [
        Bar(start, start + length, following, is_ok)
        for (start, length, is_ok), following in zip(spans, [*starts[1:], None], strict=True)
    ]
    end = axis_end(bars)
    lefts = []
    for bar in bars:
        root = drawn(attempt_chart(bar, end))
        (line,) = of_class(root, "m-ok" if bar.is_ok else "m-fail")
        (wait,) = of_class(root, "m-come")
        lefts.append(float(line.get("x")))
        assert float(line.get("width")) >= 4
        if bar.next_start is None:
            assert float(wait.get("width")) == 0
        else:
            wait_end = float(wait.get("x")) + float(wait.get("width"))
            assert wait_end == pytest.approx(1000 * max(bar.next_start, bar.end) / end, abs=0.11)
    assert lefts == sorted(lefts)


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(-1, 2))
def test_little_trouble_in_a_day_stays_visible(fine, troubled, elapsed):
    drawn(day_chart(fine, troubled, elapsed))
    fine_width, trouble_width = day_widths(fine, troubled)
    assert fine_width + trouble_width == pytest.approx(100 if fine + troubled else 0)
    assert (trouble_width >= 4) == (troubled > 0) and (fine_width >= 4) == (fine > 0)
