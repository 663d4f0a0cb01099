import json

import pytest

from tests.cli.conftest import PAST

FILE = """\
# two jobs
0 0 * * * @win(after,3h) @dist(uniform) @seed(stable,salt=backup) name=backup command=/bin/backup
0 9 * * MON-FRI @tz(Europe/Paris) name=report command="/bin/report --all"
"""


@pytest.mark.req("KSYN-CLI-NEXT")
def test_the_coming_runs_are_listed_in_order(kron):
    result = kron("next", "15 9 * * MON-FRI @tz(Europe/Paris)", "-n", "3", "--at", "2026-03-26T12:00:00Z")
    assert result.status == 0
    assert result.out == (
        "RUNS AT (Europe/Paris)      UTC\n"
        "2026-03-27 09:15:00 +01:00  2026-03-27T08:15:00Z\n"
        "2026-03-30 09:15:00 +02:00  2026-03-30T07:15:00Z\n"
        "2026-03-31 09:15:00 +02:00  2026-03-31T07:15:00Z\n"
    )


@pytest.mark.req("KSYN-DIST-MVP-RUN", "KSYN-VAL-MVP")
@pytest.mark.parametrize("name", ["uniform", "skewEarly", "skewLate", "normal", "exponential"])
def test_every_distribution_is_executed_inside_its_window(kron, name):
    text = f"0 10 * * * @win(after,2h) @dist({name})"
    runs = json.loads(
        kron("next", text, "--identity", "a", "-n", "20", "--at", "2026-01-01T00:00:00Z", "--output", "json").out
    )
    assert len(runs) == 20
    assert len({run["chosen_time"][11:] for run in runs}) > 15
    assert all(run["window_start"] <= run["chosen_time"] <= run["window_end"] for run in runs)


def test_a_run_still_to_come_in_an_open_window_is_not_forgotten(kron):
    words = ("0 0 * * * @win(after,3h) @seed(stable,salt=backup)", "--identity", "prod/db-backup")
    first = kron("next", *words, "--at", "2026-03-01T02:00:00Z", "--output", "json", "-n", "1")
    assert json.loads(first.out)[0]["chosen_time"] == "2026-03-01T02:32:20Z"
    second = kron("next", *words, "--at", "2026-03-01T02:32:20Z", "--output", "json", "-n", "1")
    assert json.loads(second.out)[0]["period_id"] == "2026-03-02T00:00:00Z"


def test_runs_are_in_the_order_of_their_chosen_times_where_windows_overlap(kron):
    text = "*/5 * * * * @win(around,2h)"
    result = kron("next", text, "--identity", "a", "-n", "50", "--at", PAST, "--output", "json")
    chosen = [run["chosen_time"] for run in json.loads(result.out)]
    assert chosen == sorted(chosen)
    assert chosen[0] > PAST


def test_a_whole_file_is_merged_with_the_names_of_its_jobs(kron, krontab):
    path = krontab(FILE)
    result = kron("next", "-f", str(path), "-n", "3", "--at", "2026-03-01T12:00:00Z")
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["RUNS", "AT", "UTC", "NOMINAL", "ZONE", "JOB"]
    assert [line.split()[-1] for line in lines[1:]] == ["backup", "report", "backup"]


def test_the_identity_of_a_job_is_its_absolute_path_and_name(kron, krontab, monkeypatch):
    path = krontab(FILE)
    monkeypatch.chdir(path.parent)
    (run,) = json.loads(kron("next", "-f", "krontab", "backup", "-n", "1", "--output", "json").out)
    assert run["identity"] == f"{path}:backup"
    (run,) = json.loads(kron("next", "-f", "krontab", "backup", "-n", "1", "--identity", "x", "--output", "json").out)
    assert run["identity"] == "x"


def test_a_job_that_is_not_there_is_not_found_and_its_neighbour_suggested(kron, krontab):
    result = kron("next", "-f", str(krontab(FILE)), "bakup")
    assert (result.status, result.out) == (1, "")
    assert "error[NOT_FOUND]" in result.err
    assert "did you mean 'backup'?" in result.err


def test_a_named_job_is_shown_although_other_lines_are_bad(kron, krontab):
    result = kron("next", "-f", str(krontab(FILE + "nonsense\n")), "report", "-n", "1")
    assert result.status == 0
    assert "ignored invalid lines: 1" in result.err


def test_a_window_wants_an_identity(kron):
    result = kron("next", "0 0 * * * @win(after,3h)")
    assert (result.status, result.out) == (2, "")
    assert "add --identity NAME" in result.err


def test_an_impossible_date_says_why(kron):
    result = kron("next", "0 0 30 2 *", "--dialect", "posix")
    assert result.status == 1
    assert "no month has such a day" in result.err


def test_the_service_dialect_counts_seconds(kron):
    result = kron("next", "*/20 * * * * *", "--dialect", "service", "-n", "2", "--at", "2026-03-01T00:00:00Z")
    assert [line.split()[1] for line in result.out.splitlines()[1:]] == ["00:00:20", "00:00:40"]


@pytest.mark.parametrize("at", ["0001-01-01T02:12:07+12:07", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"])
def test_the_ends_of_time_are_instants_too(kron, at):
    assert kron("next", "* * * * *", "-n", "1", "--at", at).status in (0, 1)
    assert kron("lint", "0 2 * * * @tz(Europe/Paris)", "--at", at).status == 0


@pytest.mark.parametrize(
    ("text", "periods", "first"),
    [
        ("* * * * * @only(dow=SUN)", "8,639 periods cannot run: only dow", "2026-06-07 00:00:00"),
        ("0 * * * * @only(date=2026-12-25)", "4,967 periods cannot run: only dates", "2026-12-25 00:00:00"),
        ("0 10 * * * @only(date=2026-12-25)", "207 periods cannot run: only dates", "2026-12-25 10:00:00"),
        ("0 10 * * * @avoid(date=2026-06-01)", "1 period cannot run: avoid dates", "2026-06-02 10:00:00"),
    ],
)
def test_count_is_of_runs_and_unschedulable_periods_are_one_line(kron, text, periods, first):
    result = kron("next", text, "-n", "1", "--at", "2026-06-01T00:00:00Z")
    assert result.status == 0
    head, closed, run = result.out.splitlines()
    assert head == "RUNS AT (UTC)               UTC"
    assert closed == f"unschedulable               {periods}"
    assert run.startswith(first)


def test_json_has_runs_and_the_number_of_unschedulable_periods(kron):
    words = ("next", "0 9 * * * @avoid(dow=SAT,SUN)", "-n", "3", "--at", "2026-06-04T12:00:00Z", "-o", "json")
    result = kron(*words)
    runs = json.loads(result.out)
    assert [run["period_id"][:10] for run in runs] == ["2026-06-05", "2026-06-08", "2026-06-09"]
    assert [run["unschedulable_before"] for run in runs] == [0, 2, 0]
    assert all(run["chosen_time"] for run in runs)
    assert kron("verify", stdin=result.out).status == 0


def test_a_list_that_ends_early_says_up_to_when_it_looked(kron):
    words = ("next", "0 10 * * * @only(date=2026-12-25)", "-n", "3", "--at", "2026-06-01T00:00:00Z")
    result = kron(*words)
    assert (result.status, len(result.out.splitlines())) == (0, 3)
    assert result.err == "no further run until 2126-12-25T10:00:00Z: 36,524 periods cannot run: only dates\n"
    assert kron(*words, "-o", "json").err == result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("0 10 * * * @only(date=2026-12-25)", "--at", "2027-01-01T00:00:00Z"),
            "no run until 2126-12-31T10:00:00Z: 36,524 periods cannot run: only dates",
        ),
        (
            ("0 0 1 1 *", "--at", "9998-01-01T00:00:00Z"),
            "no run until 9702-01-20T01:46:40Z, where the calendar of Kron ends",
        ),
        (
            ("0 0 * * * @win(around,2562047h)", "--identity", "a", "--at", PAST),
            "the windows of more than 20,000 periods overlap, so the next run is not known",
        ),
        (
            ("30 12 * * * @only(between=12:00-12:10)", "--at", PAST),
            "no run until 2080-12-01T12:29:59Z, where the search ended after 20,000 periods: "
            "20,000 periods cannot run: only between",
        ),
    ],
)
def test_a_search_without_a_run_names_its_bound(kron, words, message):
    result = kron("next", *words)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"error[NOT_FOUND]: {message}\n")
    assert kron("next", *words, "-o", "json").err == result.err


def test_explain_names_the_bound_of_its_search(kron):
    result = kron("explain", "0 0 1 1 *", "--at", "9998-01-01T00:00:00Z")
    assert (result.status, result.out) == (1, "")
    assert "where the calendar of Kron ends" in result.err


def test_a_file_names_the_job_that_has_no_run(kron, krontab):
    path = krontab("0 10 * * * @only(date=2026-01-01) name=past command=x\n0 9 * * * name=daily command=x\n")
    result = kron("next", "-f", str(path), "-n", "2", "--at", "2026-06-01T00:00:00Z")
    assert result.status == 0
    assert [line.split()[-1] for line in result.out.splitlines()[1:]] == ["daily", "daily"]
    assert result.err.startswith("past: no run until 2126-")


def test_runs_before_the_calendar_begins_are_left_out_with_a_note(kron):
    result = kron("next", "0 0 1 1 *", "-n", "1", "--at", "0001-01-01T00:00:00Z")
    assert result.out.splitlines()[1].startswith("0323-01-01 00:00:00")
    assert result.err == "periods before 0322-03-10T03:33:20Z are left out: the calendar of Kron begins there\n"


@pytest.mark.parametrize("text", ["at 2020-01-01T00:00", "0 9 * * * @valid(until=2020-01-01T00:00)"])
def test_schedule_that_is_over_says_so(kron, text):
    result = kron("next", text, "--dialect", "plus", "--at", PAST)
    assert result.status == 1
    assert "the schedule has no later period" in result.err
    assert "calendar" not in result.err
