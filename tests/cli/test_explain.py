import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "explain.txt"

V1 = (
    "0 0 * * * @tz(UTC) @win(after,3h) @dist(uniform) @seed(stable,salt=backup) "
    "@policy(concurrency=forbid,deadline=30m)"
)
MSGS = (
    "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) @seed(daily,salt=msgs) "
    "@only(dow=MON-FRI;between=08:00-20:00)"
)
LIGHTS = "0 18 * * * @tz(America/Los_Angeles) @win(around,20m) @dist(skewLate,shape=1.4) @seed(daily,salt=lights)"
NIGHTS = "0 * * * * @tz(UTC) @win(after,30m) @dist(skewEarly) @only(dow=MON-FRI;hours=8-18)"
MONTHLY = "0 2 1 * * @tz(UTC) @win(after,8h) @dist(uniform) @policy(concurrency=forbid,deadline=15m)"


@pytest.fixture
def decision(kron):
    """The decision that explain prints as JSON."""

    def explain(text, identity, period):
        result = kron("explain", text, "--identity", identity, "--period", period, "--output", "json")
        assert result.status == 0, result.err
        return json.loads(result.out)

    return explain


@pytest.mark.req("KSYN-EX-BACKUP")
def test_the_backup_example_runs_at_the_published_second(decision):
    assert decision(V1, "prod/db-backup", "2026-03-01T00:00:00Z")["chosen_time"] == "2026-03-01T02:32:20Z"


@pytest.mark.req("KSYN-EX-MSGS")
def test_the_messages_example_is_executable_on_weekdays_only(decision):
    found = decision(MSGS, "msgs/paris", "2026-03-02T09:00:00Z")
    assert found["window_start"] <= found["chosen_time"] <= found["window_end"]
    assert decision(MSGS, "msgs/paris", "2026-03-01T09:00:00Z")["outcome"] == "unschedulable"


@pytest.mark.req("KSYN-EX-LIGHTS")
def test_the_lights_example_is_executable(decision):
    found = decision(LIGHTS, "home/lights", "2026-03-02T02:00:00Z")
    assert (found["window_start"], found["window_end"]) == ("2026-03-02T01:50:00Z", "2026-03-02T02:10:00Z")
    assert found["window_start"] <= found["chosen_time"] <= found["window_end"]
    assert found["period_key"] == "2026-03-01"


@pytest.mark.req("KSYN-EX-NIGHTS")
def test_the_nights_example_is_executable_by_day_and_unschedulable_by_night(decision):
    assert decision(NIGHTS, "a", "2026-03-02T07:00:00Z")["outcome"] == "unschedulable"
    found = decision(NIGHTS, "a", "2026-03-02T08:00:00Z")
    assert "2026-03-02T08:00:00Z" <= found["chosen_time"] <= "2026-03-02T08:30:00Z"


@pytest.mark.req("KSYN-EX-MONTHLY")
def test_the_monthly_example_is_executable(decision):
    found = decision(MONTHLY, "a", "2026-04-01T02:00:00Z")
    assert "2026-04-01T02:00:00Z" <= found["chosen_time"] <= "2026-04-01T10:00:00Z"


@pytest.mark.req("KSYN-CLI-EXPLAIN")
def test_the_picture_shows_period_window_density_and_the_chosen_second(kron, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate) @only(between=09:30-20:00)"
    result = kron("explain", text, "--identity", "msgs/paris", "--period", "2026-03-02T09:00:00Z")
    assert result.status == 0
    assert result.out == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.req("KSPEC-CON-UNSCHED")
def test_an_unschedulable_period_has_that_outcome_and_no_time_at_which_anything_could_run(kron, decision):
    found = decision(MSGS, "a", "2026-03-01T09:00:00Z")
    assert (found["outcome"], found["reason"], found["chosen_time"]) == ("unschedulable", "constraints", None)
    words = ("next", MSGS, "--identity", "a", "--at", "2026-02-28T12:00:00Z", "-n", "1")
    unschedulable, monday = kron(*words).out.splitlines()[1:]
    assert unschedulable.split()[0] == "unschedulable"
    assert monday.startswith("2026-03-02 ")


def test_an_unschedulable_period_says_which_constraint_refused_it(kron):
    result = kron("explain", MSGS, "--identity", "a", "--period", "2026-03-01T09:00:00Z")
    assert result.status == 0
    assert "unschedulable: all 64 draws were rejected: @only(dow) 64" in result.out
    result = kron("explain", "0 19 * * * @avoid(date=2026-12-25)", "--period", "2026-12-25T19:00:00Z")
    assert "unschedulable: @avoid(dates) rejects the nominal time" in result.out


def test_a_time_that_is_no_period_is_not_found(kron):
    result = kron("explain", "0 19 * * *", "--period", "2026-12-25T19:30:00Z")
    assert (result.status, result.out) == (1, "")
    assert "the next period is 2026-12-26T19:00:00Z" in result.err


def test_a_file_with_several_jobs_wants_a_name(kron, krontab):
    path = krontab("0 0 * * * name=a command=x\n0 0 * * * name=b command=x\n")
    result = kron("explain", "-f", str(path))
    assert result.status == 2
    assert "add the name of one job: a, b" in result.err
    assert kron("explain", "-f", str(path), "b").status == 0


def test_a_bad_schedule_is_shown_with_a_caret_on_stderr(kron):
    result = kron("explain", "0 10 * * * @wim(after,2h)")
    assert (result.status, result.out) == (1, "")
    assert "  0 10 * * * @wim(after,2h)\n             ^^^^\n" in result.err
