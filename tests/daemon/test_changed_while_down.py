"""Tables that change while no daemon runs: the change is in force since it was made, not since it is read."""

import time

import pytest

from kron.timing.zone import rfc3339
from tests.daemon.krond import NEVER, Krond, until


def at(seconds: float, deadline: str = "5m") -> str:
    return f"plus: at {rfc3339(int(seconds))} @policy(deadline={deadline})"


def started(krond: Krond) -> Krond:
    """A daemon that has registered itself, so that its successor knows when it ended."""
    krond.start()
    until(lambda: krond.ask(lambda store: store.overview.workers()))
    return krond


@pytest.fixture
def daemon(krond):
    """A daemon with a job that is never due."""
    krond.write("table", krond.job("a", "true", NEVER))
    return started(krond)


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_job_that_was_added_during_a_downtime_runs_what_was_due_since_then(daemon, tmp_path, end):
    getattr(daemon, end)()
    due = time.time() + 2
    daemon.write("table", daemon.job("a", "true", NEVER), daemon.job("new", f"echo x >> {tmp_path}/out", at(due)))
    time.sleep(max(0.0, due + 1 - time.time()))
    daemon.start()
    until((tmp_path / "out").exists)


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_period_that_the_old_table_had_after_the_change_is_not_run(krond, tmp_path, end):
    due = time.time() + 8
    krond.write("table", krond.job("a", f"echo old >> {tmp_path}/out", at(due)))
    started(krond)
    getattr(krond, end)()
    krond.write("table", krond.job("a", f"echo new >> {tmp_path}/out", at(due + 2)))
    assert time.time() < due, "the machine was too busy for this test"
    time.sleep(max(0.0, due + 3 - time.time()))
    krond.start()
    until((tmp_path / "out").exists)
    krond.stop()
    assert (tmp_path / "out").read_text() == "new\n"
    assert [run.nominal for run in krond.runs("a")] == [int(due + 2)]


def test_first_daemon_runs_nothing_that_was_due_before_it(krond, tmp_path):
    due = time.time() + 1
    krond.write("table", krond.job("a", f"echo x >> {tmp_path}/out", at(due)))
    time.sleep(max(0.0, due + 1 - time.time()))
    krond.start()
    krond.write("other", krond.job("b", "true", NEVER))
    until(lambda: len(krond.events("table_loaded")) == 2)
    krond.stop()
    assert krond.runs("a") == []


def test_old_file_that_is_put_in_place_is_in_force_since_then(daemon, tmp_path):
    """The content is older than the first daemon; the rename is not."""
    due = time.time() + 2
    draft = tmp_path / "draft"
    draft.write_text(daemon.job("new", f"echo x >> {tmp_path}/out", at(due)) + "\n")
    daemon.kill()
    time.sleep(max(0.0, due + 1 - time.time()))
    draft.replace(daemon.tables / "other")
    daemon.start()
    time.sleep(0.5)
    daemon.stop()
    assert daemon.runs("new", "other") == []
