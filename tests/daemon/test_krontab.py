"""krontab and the records of a real krond: status, next, why, history, run, pause, resume and log."""

import json
import os
import signal
import subprocess
import time

import pytest

from kron.rules.run_state import State
from tests.daemon.krond import BIN, EVERY_SECOND, NEVER, krontab, until


@pytest.fixture
def daemon(krond):
    """A daemon with two tables; both have a job of the name `twin`."""
    krond.write("one", krond.job("alone", "echo first; echo second", NEVER), krond.job("twin", "true", NEVER))
    krond.write("two", krond.job("twin", "true", NEVER))
    return krond.start()


def shown(result, status=0):
    assert result.returncode == status, result
    return result.stdout


def test_status_names_the_process_and_the_jobs(daemon):
    record = json.loads(shown(krontab(daemon, "status", "-o", "json")))
    assert (record["pid"], record["jobs"], record["paused"]) == (daemon.process.pid, 3, 0)
    assert record["tables"] == {"one": "in force", "two": "in force"}
    assert [each["job"] for each in record["next"]] == ["one:alone", "one:twin", "two:twin"]
    text = shown(krontab(daemon, "status"))
    assert f"running, process {daemon.process.pid}" in text and "2 tables" in text and "3 jobs in force" in text


def test_status_sees_that_a_killed_daemon_does_not_run(daemon):
    """The lock file still has its process id, which another process can have by now."""
    daemon.kill()
    assert "not running" in shown(krontab(daemon, "status"), 1)
    (daemon.state.parent / "krond.lock").write_text(f"{os.getpid()}\n")
    assert "not running" in shown(krontab(daemon, "status"), 1)


def test_status_shows_a_command_that_runs(krond, tmp_path):
    krond.write("one", krond.job("long", f"while [ ! -e {tmp_path}/end ]; do sleep 0.05; done", NEVER))
    krond.start()
    assert shown(krontab(krond, "run", "long"))
    until(lambda: krond.events("launch_completed"))
    (run,) = json.loads(shown(krontab(krond, "status", "-o", "json")))["running"]
    assert run["schedule_id"] == krond.identity("long", "one")
    assert "running: 1 command\n         one:long since 20" in shown(krontab(krond, "status"))
    (tmp_path / "end").touch()


def test_status_fails_if_a_table_is_refused(daemon):
    daemon.write("two", "nonsense")
    until(lambda: daemon.events("table_refused"))
    assert "two refused" in shown(krontab(daemon, "status"), 1)


def test_next_shows_the_jobs_in_force(daemon):
    runs = json.loads(shown(krontab(daemon, "next", "alone", "--at", "2026-05-01T00:00:00Z", "-n", "2", "-o", "json")))
    assert [run["chosen_time"] for run in runs] == ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]
    assert {run["identity"] for run in runs} == {daemon.identity("alone", "one")}
    text = shown(krontab(daemon, "next", "-n", "3", "--at", "2026-05-01T00:00:00Z"))
    assert all(name in text for name in ("one:alone", "one:twin", "two:twin"))


def test_next_of_many_jobs_has_the_earliest_runs(krond):
    """Only jobs that can have one of the next runs are computed further."""
    lines = [krond.job(f"job{hour}", "true", f"0 {hour} 1 1 *") for hour in (3, 2, 1, 0)]
    krond.write(
        "one",
        krond.job("past", "true", "plus: at 2026-01-01T00:00:00Z"),
        *lines,
        krond.job("often", "true", "0 2-4 1 1 *"),
    )
    krond.start()
    runs = json.loads(shown(krontab(krond, "next", "-n", "4", "--at", "2026-05-01T00:00:00Z", "-o", "json")))
    names = ["job0", "job1", "job2", "often"]
    assert [run["identity"] for run in runs] == [krond.identity(name, "one") for name in names]


def test_next_reads_a_schedule_as_kron_does(daemon):
    words = ("next", "0 4 * * *", "-n", "1", "--at", "2026-05-01T00:00:00Z", "-o", "json")
    krontab_run, kron_run = (
        subprocess.run([BIN / program, *words], capture_output=True, text=True, check=True).stdout
        for program in ("krontab", "kron")
    )
    assert krontab_run == kron_run and "2026-05-01T04:00:00Z" in kron_run


@pytest.mark.parametrize("name", ["one:alone", "alone"])
def test_run_starts_a_job_and_history_and_why_show_it(daemon, name):
    (request,) = json.loads(shown(krontab(daemon, "run", name, "--note", "by hand", "-o", "json")))
    until(lambda: daemon.runs("alone", "one")[0].state is State.SUCCESS)
    (run,) = json.loads(shown(krontab(daemon, "history", name, "-o", "json")))
    assert (run["key"], run["state"]) == (request["key"], "success")
    assert "executed" in shown(krontab(daemon, "why", name, "--run", run["key"]))
    report = json.loads(shown(krontab(daemon, "why", name, "--at", run["due_at"][:19] + "Z", "-o", "json")))
    assert report["revision"] == 1


def test_pause_and_resume_are_recorded_with_their_note(daemon):
    shown(krontab(daemon, "pause", "two:twin", "--note", "disk is full", "--until", "2099-01-01T00:00:00Z"))
    (action,) = daemon.ask(lambda store: store.actions(daemon.identity("twin", "two")))
    assert action.note == "disk is full" and action.actor.startswith("krontab pause")
    upcoming = krontab(daemon, "next", "two:twin")
    assert "two:twin is paused" in upcoming.stderr and shown(upcoming) == ""
    assert "1 paused" in shown(krontab(daemon, "status"))
    (job,) = [json.loads(shown(krontab(daemon, "resume", "two:twin", "-o", "json")))]
    assert (job["id"], job["paused"]) == (daemon.identity("twin", "two"), False)


def test_name_that_several_tables_have_needs_its_table(daemon):
    result = krontab(daemon, "history", "twin")
    assert result.returncode == 2 and "one:twin, two:twin" in result.stderr


@pytest.mark.parametrize(("word", "near"), [("aline", "alone"), ("one:alon", "one:alone"), ("zzz", "one:alone")])
def test_unknown_job_names_the_nearest(daemon, word, near):
    result = krontab(daemon, "why", word)
    assert result.returncode == 1 and f"'{near}'" in result.stderr, result.stderr


def test_history_of_a_removed_job_stays(daemon):
    shown(krontab(daemon, "run", "alone"))
    until(lambda: daemon.runs("alone", "one")[0].state is State.SUCCESS)
    daemon.write("one", daemon.job("twin", "true", NEVER))
    until(lambda: daemon.identity("alone", "one") not in daemon.names())
    assert "success" in shown(krontab(daemon, "history", "alone"))


def test_commands_without_a_daemon_say_what_to_start(krond):
    for words in (("next",), ("why", "x"), ("log",)):
        result = krontab(krond, *words)
        assert result.returncode == 1 and "start krond --user" in result.stderr


def test_log_prints_the_output_of_the_last_runs(daemon):
    for number in (1, 2):
        shown(krontab(daemon, "run", "alone"))
        until(lambda n=number: [run.state for run in daemon.runs("alone", "one")] == [State.SUCCESS] * n)
    text = shown(krontab(daemon, "log", "alone"))
    assert text.count("first\nsecond\n") == text.count("== one:alone, period 20") == 2
    assert shown(krontab(daemon, "log", "-n", "1")).count("first\nsecond\n") == 1
    assert "no output captured" in krontab(daemon, "log", "one:twin").stderr


def test_log_shows_control_characters_escaped(krond):
    krond.write("one", krond.job("evil", "printf '%b' '\\\\033[2Jx'", NEVER))
    krond.start()
    krontab(krond, "run", "evil")
    until(lambda: krond.runs("evil", "one")[0].state is State.SUCCESS)
    assert "\\x1b[2Jx\n" in shown(krontab(krond, "log", "evil"))


def test_log_follows_runs_and_output_without_a_line_feed(krond):
    krond.write("one", krond.job("tick", "echo begin; sleep 0.3; printf end$KRON_PERIOD", EVERY_SECOND))
    krond.start()
    words = ["--config", str(krond.tables), "--state", str(krond.state), "--user"]
    log = krond.folder / "followed"
    with log.open("wb") as file:
        follower = subprocess.Popen([BIN / "krontab", "log", "-f", "tick", *words], stdout=file, stderr=file)
    try:
        until(lambda: log.read_text().count("\nend20") >= 3)
        began = time.monotonic()
    finally:
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
    assert time.monotonic() - began < 20
    ends = [line for line in log.read_text().splitlines() if line.startswith("end")]
    assert len(ends) == len(set(ends)), "output was printed twice"
