"""The views with the columns of the service's specification: the same in PostgreSQL and in SQLite."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from kron.apps.record_fields import next_run_at
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.schedule.policy import Overlap
from tests.stores.making import NOW, SECONDS, a_case, a_revision, a_run, now

SCHEDULES = (
    *("schedule_id", "workflow_id", "version", "user_id", "cron_expr", "timezone", "start_at", "end_at"),
    *("next_run_at", "paused", "jitter_ms", "overlap_policy", "catchup_policy", "updated_at"),
)
RUNS = ("idempotency_key", "schedule_id", "run_at", "status", "run_id", "created_at", "updated_at")
STATUS = {
    "waiting": "STARTED",
    "pending": "ENQUEUED",
    "launching": "ENQUEUED",
    "retry": "ENQUEUED",
    "missed": "SKIPPED",
}


@pytest.fixture(params=["sqlite", "postgres"])
def shown(request, folder):
    """A store, and what its views show: rows as dictionaries, with times as text."""
    store = request.getfixturevalue(request.param)
    if request.param == "sqlite":

        def view(name):
            with closing(sqlite3.connect(folder / "kron.db")) as file:
                file.row_factory = sqlite3.Row
                return [dict(row) for row in file.execute(f"SELECT * FROM service_{name} ORDER BY 1, 3")]
    else:
        sql = request.getfixturevalue("sql")

        def view(name):
            rows = sql(f"SELECT to_jsonb(v) - 'tenant_id' FROM {name} v ORDER BY v.schedule_id, 1")
            return [row if isinstance(row, dict) else json.loads(row) for (row,) in rows]

    return store, view


def defined(store, target, **more):
    case = a_case(overlap=Overlap.QUEUE, **more)
    case = case._replace(job=replace(case.job, target=target, end=NOW // 1000 + 3600))
    assert store.commit([ScheduleUpdate(None, case, revision=a_revision(case))], NOW) == [True]
    return now(store)


@pytest.mark.req("SVC-DM-NEXT")
def test_view_of_schedules_has_the_columns_and_meanings_of_the_specification(shown):
    store, view = shown
    case = defined(store, "workflow:team%2Fdeploy?version=3&user=u+1")
    (row,) = view("schedules")
    assert set(SCHEDULES) <= row.keys()
    assert (row["schedule_id"], row["workflow_id"], row["version"], row["user_id"]) == ("a", "team/deploy", 3, "u 1")
    assert (row["cron_expr"], row["timezone"], row["paused"], row["revision"]) == ("* * * * *", "UTC", 0, 1)
    assert (row["overlap_policy"], row["jitter_ms"], row["start_at"]) == ("queue", 0, None)
    assert row["next_run_at"][:19] == "2027-01-15T08:01:00"
    assert row["end_at"][:19] == "2027-01-15T09:00:00"
    assert row["updated_at"][:19] == "2027-01-15T08:00:00"
    sleeping = case._replace(
        next_check_at=NOW + 1
    )  # the engine wakes for a lease, or to try again: no run is planned then
    assert store.commit([ScheduleUpdate(case, sleeping)], NOW) == [True]
    assert view("schedules")[0]["next_run_at"][:19] == "2027-01-15T08:01:00"
    assert store.commit([ScheduleUpdate(now(store), now(store)._replace(paused=True))], NOW) == [True]
    assert view("schedules")[0]["next_run_at"] is None


@pytest.mark.parametrize(
    ("change", "bounds", "recorded", "following"),
    [
        ({}, {}, [], "08:01:00"),
        ({}, {}, [1, 2, 4], "08:03:00"),
        ({"paused": True, "paused_until": NOW + 600_500}, {}, [1], "08:11:00"),
        ({"paused": True, "paused_until": NOW + 600_000}, {}, [1], "08:10:00"),
        ({"paused": True, "paused_until": NOW + 600_000}, {}, [10], "08:11:00"),
        ({"paused": True, "paused_until": NOW + 7_200_000}, {"end": SECONDS + 3_600}, [], None),
        ({"cursor": SECONDS - 60}, {"start": SECONDS + 1_800}, [], "08:31:00"),
        ({"cursor": SECONDS + 3_600}, {"end": SECONDS + 3_600}, [], None),
        ({"owed": frozenset({SECONDS - 120}), "cursor": SECONDS - 180}, {}, [], "07:58:00"),
    ],
)
def test_view_of_schedules_and_http_api_name_the_same_period(shown, change, bounds, recorded, following):
    store, view = shown
    case = a_case()._replace(**change)
    case = case._replace(job=replace(case.job, **bounds))
    runs = tuple(a_run(State.SUCCESS, minute) for minute in recorded)
    assert store.commit([ScheduleUpdate(None, case, runs, revision=a_revision(case))], NOW) == [True]
    (row,) = view("schedules")
    assert (row["next_run_at"] and row["next_run_at"][:19]) == (following and f"2027-01-15T{following}")
    assert next_run_at(now(store)) == (following and f"2027-01-15T{following}Z")


def test_view_of_schedules_has_no_workflow_for_another_target(shown):
    store, view = shown
    defined(store, "https://example.com/?version=3&user=me")
    (row,) = view("schedules")
    assert (row["workflow_id"], row["version"], row["user_id"]) == (None, None, None)


@pytest.mark.req("SVC-RUN-STATUS")
def test_view_of_runs_has_the_columns_and_statuses_of_the_specification(shown):
    store, view = shown
    runs = [a_run(state, n, sent=NOW + 7_250) for n, state in enumerate(State, 1)]
    case = a_case(overlap=Overlap.ALLOW)
    assert store.commit([ScheduleUpdate(None, case, tuple(runs))], NOW) == [True]
    started = next(run for run in runs if run.state is State.STARTED)
    assert store.update_runs([RunUpdate(started, started, None, "run 7")], NOW) == [True]
    rows = {row["state"]: row for row in view("schedule_runs")}
    assert rows.keys() == set(State)
    assert all(set(RUNS) <= row.keys() for row in rows.values())
    assert all(rows[state]["status"] == status for state, status in STATUS.items())
    assert {row["status"] for row in rows.values()} == {"ENQUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED"}
    assert rows["started"]["run_id"] == "run 7"
    for run in runs:
        assert (rows[run.state]["started_at"] is None) == (run.started is None), run.state
        assert (rows[run.state]["finished_at"] is None) == (run.finished is None), run.state
    assert rows["success"]["started_at"][:22] == "2027-01-15T08:00:07.25"
    assert rows["success"]["finished_at"][:19] == "2027-01-15T08:00:00"
    assert rows["pending"]["run_at"][:19] == "2027-01-15T08:01:00"
