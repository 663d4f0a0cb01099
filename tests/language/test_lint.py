"""Lint: what it says, word for word, and when it says nothing.

`tests/golden/lint.txt` holds cases apart by blank lines: the dialect and the text, then what is reported.
To let the code write what it says now, and to review it as a diff:

    python -m tests.language.test_lint && git diff tests/golden
"""

from itertools import islice, pairwise, takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.errors import report
from kron.language.lint import admissible, lint
from kron.timing.decision import decide, violated_clause
from kron.timing.period import Period, periods
from kron.timing.zone import instant_of, moment

GOLDEN = Path(__file__).parents[1] / "golden" / "lint.txt"
CASES = [block.split("\n") for block in GOLDEN.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")]
NOW = instant_of("2025-02-28T12:00:00Z")  # in the past, which no tz database will rewrite


def found(text, *, dialect="kron", zone="UTC", now=NOW, **how):
    schedule = parse(text, dialect=dialect, timezone=zone, **how)
    return lint(text, schedule, now, dialect=dialect, **how)


def codes(text, **how):
    return [finding.code for finding in found(text, **how) if finding.code != "DEADLINE_ZERO"]


def said(head):
    """What is reported of `kron: text` or `service Europe/Paris: text`."""
    way, _, text = head.partition(": ")
    dialect, _, zone = way.partition(" ")
    findings = found(text, dialect=dialect, zone=zone or "UTC")
    return "\n".join(report(f.code, f.message, f.place, f.hint, level=f.level) for f in findings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_golden_case(case):
    assert said(case[0]) == "\n".join(case[1:])


def test_the_golden_file_has_every_finding():
    everything = GOLDEN.read_text(encoding="utf-8")
    for code in (
        "NEVER",
        "EITHER_DAY",
        "UNEVEN_STEP",
        "DST_GAP",
        "DST_FOLD",
        "UNSCHEDULABLE",
        "NARROW",
        "DEADLINE_ZERO",
    ):
        assert f"[{code}]" in everything


@pytest.mark.parametrize(
    "fields",
    [
        "0 0 * * *",
        "*/1 * * * *",
        "*/5 * * * *",
        "*/20 */6 * * *",
        "*/30 */12 * */3 *",
        "5-59/10 * * * *",
        "1-59/2 1-23/2 * * *",
        "0-30/7 * * * *",
        "0 9-17/3 * * *",
        "0 0 1-15/4 * *",
        "0 0 * * MON-FRI/2",
    ],
)
def test_a_step_that_divides_its_field_or_ends_within_it_is_even(fields):
    assert codes(fields) == []


@pytest.mark.parametrize("step", range(2, 60))
def test_a_step_of_minutes_is_uneven_just_when_the_runs_are(step):
    """The oracle looks at the runs of three hours."""
    schedule = parse(f"*/{step} * * * *", dialect="kron")
    times = [period.nominal for period in islice(periods(schedule, moment(NOW)), 3 * len(range(0, 60, step)))]
    gaps = {b - a for a, b in pairwise(times)}
    assert codes(f"*/{step} * * * *") == ([] if gaps == {60 * step} else ["UNEVEN_STEP"])


@pytest.mark.parametrize("step", ["60", "999", "1000", "1000000", "0000060", "9" * 50])
def test_a_step_as_long_as_one_likes_is_still_read(step):
    assert codes(f"*/{step} * * * *") == ["UNEVEN_STEP"]


def test_days_are_never_even_but_one_by_one():
    assert codes("0 0 */2 * *") == ["UNEVEN_STEP"]
    assert codes("0 0 */1 * *") == []
    assert codes("0 0 */31 * *") == ["UNEVEN_STEP"]


def test_either_day_is_about_two_restricted_fields():
    assert codes("0 0 1 * MON") == codes("0 0 */1 * 0-6") == ["EITHER_DAY"]
    assert codes("0 0 1 * *") == codes("0 0 * * MON") == []


def test_places_are_those_of_the_text():
    def places(text, **how):
        return [text[f.place.start : f.place.end] for f in found(text, **how)]

    assert places("*/7  0 13 * FRI  @policy(deadline=1m)") == ["13 * FRI", "*/7"]
    assert places("1,*/7,3 * * * * @policy(deadline=1m)") == ["*/7"]
    assert places('0 0 * * * @policy(deadline=1m) @win(after,1h) @only("hours=5 ; dow=MON")') == [
        '@only("hours=5 ; dow=MON")'
    ]
    assert places("0 */7 * * * *", dialect="service") == ["*/7"]
    assert places("*/7 * * * * 0", dialect="service", seconds="last") == ["*/7"]
    assert places("0 0 30 2 *", dialect="service") == ["30 2"]
    assert places("0 0 30 2 * 5", dialect="service", seconds="last") == ["30 2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 2 * * * @tz(Europe/Berlin)", ["DST_GAP", "DST_FOLD"]),
        ("30 2 * * * @tz(America/New_York)", ["DST_GAP"]),  # what comes twice there is 01:30
        ("30 1 * * * @tz(America/New_York)", ["DST_FOLD"]),
        ("15 2 * * * @tz(Australia/Lord_Howe)", ["DST_GAP"]),  # half an hour is skipped, 02:00 to 02:29
        ("45 2 * * * @tz(Australia/Lord_Howe)", []),
        ("0 0 * * * @tz(Africa/Cairo)", ["DST_GAP"]),  # where midnight itself is skipped
        ("30 2 1 * * @tz(Europe/Berlin)", []),  # clocks do not change on a first of the month
        ("30 2 * * MON @tz(Europe/Berlin)", []),
        ("30 * * * * @tz(Europe/Berlin)", []),  # it names no hour, and loses none
        ("30 2 * * *", []),
        ("30 2 * * * @tz(Asia/Tokyo)", []),
    ],
)
def test_gaps_and_folds(text, expected):
    assert codes(text) == expected


def test_a_gap_and_a_fold_are_looked_for_from_now_on():
    text = "30 2 * * * @tz(Europe/Berlin)"
    first, second = (
        next(f.message for f in found(text, now=instant_of(t)) if f.code == "DST_GAP")
        for t in ("2025-03-30T01:00:00Z", "2025-03-30T01:00:01Z")
    )
    assert "2025-03-30 02:30" in first
    assert "2026-03-29 02:30" in second


def test_one_gap_and_one_fold_are_enough():
    """The 366 days from here hold two changes to summer time."""
    assert codes("30 2 * * * @tz(Europe/Berlin)", now=instant_of("2024-03-30T12:00:00Z")) == ["DST_GAP", "DST_FOLD"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # one second of 3,601 each: 0.028 %
        ("0 0 * * * @win(after,1h) @only(between=01:00-01:00)", ["NARROW"]),
        # 1 % of the window, and below
        ("0 0 * * * @win(after,100m) @only(between=01:00-01:00)", ["NARROW"]),
        ("0 0 * * * @win(after,24h) @only(between=01:00-01:05)", ["NARROW"]),
        # (1 - 0.0666)**64 = 1.2 %, (1 - 0.0714)**64 = 0.87 %
        ("0 0 * * * @win(after,15m) @only(between=00:10-00:10)", ["NARROW"]),
        ("0 0 * * * @win(after,14m) @only(between=00:10-00:10)", []),
        # it is the draws that count, not the seconds: nearly all are early, or none
        ("0 0 * * * @win(after,24h) @dist(exponential,lambda=500) @only(between=00:00-00:05)", []),
        ("0 0 * * * @win(after,2h) @dist(normal,sigma=1m) @only(hours=0) @avoid(between=00:30-00:59)", ["NARROW"]),
        ("0 0 * * * @win(after,1h)", []),
    ],
)
def test_narrow_is_when_one_period_in_a_hundred_would_find_no_time(text, expected):
    assert codes(text) == expected


def test_the_risk_that_narrow_names_is_what_happens():
    text = "0 0 * * * @win(after,2h) @only(between=01:00-01:01)"
    schedule = parse(text, dialect="kron")
    message = next(f.message for f in found(text) if f.code == "NARROW")
    assert message == "only 1.7% of the draws satisfy the constraints: 34% of such periods are unschedulable"
    period = Period(instant_of("2026-03-01T00:00:00Z"))
    failed = sum(decide(schedule, period, f"job-{i}").unschedulable for i in range(1_000))
    assert 300 < failed < 380
    assert admissible(schedule, period) == pytest.approx(120 / 7201)


@pytest.mark.parametrize(
    "text",
    [
        "0 10 * * * @win(after,1h) @only(hours=12)",
        "0 10 * * * @only(hours=12)",
        "*/5 * * * * @only(between=08:01-08:04)",
        "* * * * * @only(dom=30;months=FEB)",
        "* * * * * @tz(Europe/Paris) @only(hours=1-5) @avoid(between=00:00-06:00)",
        "0 0 1 * * @only(date=2040-01-01)",
        "0 0 29 2 * @only(date=2027-02-28)",
    ],
)
def test_unschedulable_is_when_no_window_of_the_coming_years_is_open(text):
    assert codes(text) == ["UNSCHEDULABLE"]


@pytest.mark.parametrize(
    "text",
    [
        "0 * * * * @win(after,30m) @dist(skewEarly) @only(dow=MON-FRI;hours=8-18)",
        "*/5 * * * * @only(hours=9-17)",
        "0 0 * * * @only(date=2032-12-25)",
        "* * * * * @only(date=2032-12-25;between=12:34-12:34)",
        "0 0 29 2 * @win(after,1h) @only(dow=SUN)",  # the next such Sunday is in 2032
        "0 12 * * * @win(around,26h) @only(between=00:00-02:00)",
        "30 2 * * * @tz(Europe/Berlin) @avoid(dates=2025-01-01..2026-12-31)",
    ],
)
@pytest.mark.parametrize("now", ["2025-02-28T19:00:00Z", "2025-03-01T12:00:00Z", "2025-06-30T23:59:59Z"])
def test_a_schedule_that_runs_at_some_time_is_not_called_unschedulable_at_any(text, now):
    assert "UNSCHEDULABLE" not in codes(text, now=instant_of(now))


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["0 */6 * * *", "*/30 * * * *", "0 3 * * MON", "15 22 * * *"]),
    st.sampled_from(["", "@tz(Asia/Kathmandu)"]),
    st.sampled_from(["", "@win(after,20m)", "@win(around,3h)", "@win(around,1h1m1s)"]),
    st.sets(st.integers(0, 23), min_size=1, max_size=3),
    st.sets(st.integers(0, 6), min_size=1, max_size=7),
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.integers(NOW, NOW + 10**8),
)
def test_unschedulable_is_what_looking_at_every_minute_of_a_week_gives(
    fields, zone, window, hours, days, start, end, now
):
    """Without dates and clock changes every week is alike."""
    clauses = f"hours={','.join(map(str, hours))};dow={','.join(map(str, days))}"
    between = f"{start // 60:02d}:{start % 60:02d}-{end // 60:02d}:{end % 60:02d}"
    text = " ".join(part for part in (fields, zone, window, f"@only({clauses}) @avoid(between={between})") if part)
    schedule = parse(text, dialect="kron")
    first, last, seconds = schedule.window.first, schedule.window.last, set()
    for period in takewhile(lambda period: period.nominal < now + 8 * 86_400, periods(schedule, moment(now))):
        nominal = period.nominal
        seconds |= {nominal + first, nominal + last, *range(nominal - -first // 60 * 60, nominal + last + 1, 60)}
    is_open = any(not violated_clause(schedule, t) for t in seconds)
    assert ("UNSCHEDULABLE" in codes(text, now=now)) != is_open


def test_deadline_zero_is_a_note_of_krons_own_dialect():
    assert [f.code for f in found("0 0 * * *")] == ["DEADLINE_ZERO"]
    assert [f.level for f in found("0 0 * * *")] == ["note"]
    assert found("0 0 * * * @policy(deadline=1s)") == []
    assert found("0 0 * * *", dialect="posix") == found("0 0 * * *", dialect="service") == []


def test_what_never_runs_is_said_and_nothing_else():
    assert codes("0 2 30 2 *", dialect="service", zone="Europe/Berlin") == ["NEVER"]
    assert codes("0 2 31 4,6,9,11 *", dialect="posix") == ["NEVER"]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(["*", "*/7", "1-5", "3,1-4/2", "2"]), min_size=5, max_size=5).map(" ".join),
    st.sampled_from(["", "@win(after,292h)", "@win(around,2562047h)", "@win(after,1ns)", "@win(after,333h)"]),
    st.sampled_from(["", "@only(between=00:00-00:00)", "@avoid(hours=0-22)", "@only(date=9999-12-31)"]),
    st.sampled_from(["", "@tz(America/St_Johns)"]),
    st.integers(0, 10**11),
)
def test_lint_answers_whatever_parses_at_any_time(fields, window, limit, zone, now):
    text = " ".join(part for part in (fields, zone, window, limit) if part)
    assert all(finding.message for finding in found(text, now=now))


if __name__ == "__main__":
    GOLDEN.write_text(
        "\n\n".join("\n".join([case[0], said(case[0])]).rstrip("\n") for case in CASES) + "\n", encoding="utf-8"
    )
