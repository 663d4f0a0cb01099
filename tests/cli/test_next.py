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
