"""`kron jobs`, `runs`, `pause`, `resume`, `trigger` and `delete`, on the store of a real embedded scheduler."""

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from kron import Scheduler
from tests.cli.conftest import command

COMMANDS = {"jobs": (), "runs": ("report",), "pause": ("report",), "trigger": ("report",), "delete": ("report",)}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """A store in which an embedded scheduler defined jobs and ran one of them."""
    url = f"sqlite:{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")
    s = Scheduler(url)
    s.add(lambda: None, "daily around 3:00", name="report", timezone="Europe/Paris")
    s.add(lambda: 1 / 0, every="1h", name="broken")

    @s.task
    def remind(user):
        pass

    with s:
        for user in (41, 42, 43):
            labels = {"customer": str(user % 2)}
            s.sync.create(f"reminder-{user}", remind, every="2h", kwargs={"user": user}, labels=labels)
        for name in ("broken", "report", "report"):
            s.sync.result(s.sync.trigger(name), timeout=20)
    return url


def asked(kron, *words):
    """The JSON that a command prints."""
    result = kron(*words, "-o", "json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def names(jobs):
    return [job["id"] for job in jobs]


def test_jobs_are_listed_by_prefix_label_pause_and_limit(kron, url):
    everything = ["broken", "reminder-41", "reminder-42", "reminder-43", "report"]
    assert names(asked(kron, "jobs", "--store", url)) == everything
    assert names(asked(kron, "jobs", "--store", url, "--prefix", "reminder-4", "--label", "customer=1")) == [
        "reminder-41",
        "reminder-43",
    ]
    assert asked(kron, "jobs", "--store", url, "--paused") == []
    limited = kron("jobs", "--store", url, "--limit", "2", "-o", "name")
    assert limited.out == "broken\nreminder-41\n"
    assert limited.err == "2 jobs shown; there are more: use --limit, --prefix or --label\n"
    assert kron("jobs", "--store", url, "--limit", "5").err == ""


def test_job_shows_its_schedule_arguments_and_next_run(kron, url):
    (job,) = asked(kron, "jobs", "--store", url, "--prefix", "reminder-42")
    assert job["payload"] == {"args": [], "kwargs": {"user": 42}}
    assert (job["labels"], job["target"], job["paused"]) == ({"customer": "0"}, "python:remind", False)
    head, row = kron("jobs", "--store", url, "--prefix", "report").out.splitlines()
    assert head.split() == ["ID", "SCHEDULE", "ZONE", "NEXT", "PAUSED"]
    assert row.startswith("report  daily around 3:00  Europe/Paris  2")
    assert row.endswith("Z  no")


def test_runs_are_listed_newest_first_and_by_state(kron, url):
    runs = asked(kron, "runs", "report", "--store", url)
    assert [run["state"] for run in runs] == ["success", "success"]
    assert runs[0]["period"] >= runs[1]["period"]
    assert runs[0]["started_at"] <= runs[0]["finished_at"]
    assert asked(kron, "runs", "report", "--store", url, "--limit", "1") == runs[:1]
    assert asked(kron, "runs", "report", "--store", url, "--state", "failed") == []
    (failed,) = asked(kron, "runs", "broken", "--store", url, "--state", "failed", "--outcome", "executed")
    assert (failed["schedule_id"], failed["reason"], failed["attempt"]) == ("broken", "failed", 1)
    table = kron("runs", "broken", "--store", url).out.splitlines()
    assert table[0].split()[:2] == ["PERIOD", "DUE"]
    assert failed["key"][:12] in table[1]


def test_triggered_run_is_explained_by_its_time_and_by_its_key(kron, url):
    """It names its request and its error, and no decision of the calendar."""
    (run,) = asked(kron, "runs", "broken", "--store", url)
    assert run["error"] == "ZeroDivisionError: division by zero"
    by_time = kron("why", "broken", "--store", url, "--at", run["period"])
    by_key = kron("why", "broken", "--store", url, "--run", run["key"])
    assert (by_time.status, by_time.out) == (0, by_key.out)
    revision, requested, outcome, started, attempt = by_key.out.splitlines()
    assert revision.startswith("revision 1")
    assert requested == f"requested as {run['trigger']}, {run['created_at']}"
    assert outcome == "executed: The run failed. Reason: The target reported a failure."
    assert started.startswith("started ")
    assert attempt.endswith(': "ZeroDivisionError: division by zero"')
    found = json.loads(kron("why", "broken", "--store", url, "--run", run["key"], "-o", "json").out)
    assert (found["key"], found["trigger"], found["decision"]) == (run["key"], run["trigger"], None)
    assert [each["error"] for each in asked(kron, "runs", "report", "--store", url)] == [None, None]


def test_unknown_key_of_a_run_says_where_keys_are_printed(kron, url):
    (run,) = asked(kron, "runs", "broken", "--store", url)
    foreign = kron("why", "report", "--store", url, "--run", run["key"])
    assert foreign.status == 1
    assert "'report' has no run with the key" in foreign.err
    assert "hint: use a key that `kron runs report -o name` prints" in foreign.err
    as_name = kron("why", run["key"], "--store", url)
    assert as_name.status == 1
    assert "hint: this is the key of a run: use kron why JOB --run KEY" in as_name.err


def test_filter_reads_page_after_page_up_to_its_bound(kron, tmp_path, monkeypatch):
    from kron.apps.cli.commands import runs

    url = f"sqlite:{tmp_path}/jobs.db"
    s = Scheduler(url)
    s.add(lambda: None, every="1h", name="a")
    with s:
        for _ in range(6):
            s.sync.result(s.sync.trigger("a"), timeout=20)
    monkeypatch.setattr(runs, "MAX_PAGE_SIZE", 2)
    assert len(asked(kron, "runs", "a", "--store", url, "--state", "success", "--limit", "5")) == 5
    assert asked(kron, "runs", "a", "--store", url, "--state", "failed") == []
    monkeypatch.setattr(runs, "MAX_RUNS_READ", 4)
    bounded = kron("runs", "a", "--store", url, "--state", "failed", "-o", "name")
    assert (bounded.out, bounded.err) == ("", "the search ended after 4 runs\n")


def test_pause_has_actor_note_and_end_and_is_resumed(kron, url):
    until = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    paused = asked(kron, "pause", "report", "--store", url, "--note", "holidays", "--until", until)
    assert (paused["id"], paused["paused"], paused["paused_until"]) == ("report", True, until)
    assert paused["next_run_at"] > until
    assert names(asked(kron, "jobs", "--store", url, "--paused")) == ["report"]
    assert kron("jobs", "--store", url, "--prefix", "report").out.endswith(f"until {until}\n")
    shown = kron("why", "report", "--store", url, "--at", until[:-9] + "00:00:00Z").out
    assert "paused by kron pause (" in shown
    assert f"until {until}: holidays" in shown
    assert not asked(kron, "resume", "report", "--store", url)["paused"]
    assert asked(kron, "jobs", "--store", url, "--paused") == []


def test_pause_that_would_end_in_the_past_is_rejected(kron, url):
    result = kron("pause", "report", "--store", url, "--until", "2020-01-01T00:00:00Z")
    assert result.status == 1
    assert "error[PAST]: pause end 2020-01-01T00:00:00Z is in the past\n  hint: use a future time" in result.err
    assert kron("pause", "report", "--store", url, "--until", "tomorrow").status == 2
    assert asked(kron, "jobs", "--store", url, "--paused") == []


def test_trigger_without_process_waits_and_repeats_give_one_run(kron, url):
    words = ("trigger", "report", "--store", url, "--request", "release-42", "-o", "name")
    first = kron(*words)
    assert first.status == 0
    assert first.err == (
        "no living process can run 'report': the run waits until one starts, "
        "and then the overlap policy of the job applies\n"
    )
    assert kron(*words).out == first.out
    (run,) = asked(kron, "runs", "report", "--store", url, "--state", "pending")
    assert (run["key"], run["trigger"]) == (first.out.strip(), "release-42")
    skipped = kron("trigger", "report", "--store", url)
    assert skipped.status == 1
    assert skipped.err.startswith("the run was skipped: Another run of the schedule was waiting or active.")


def test_deleted_job_is_gone_and_its_history_stays(kron, url):
    assert asked(kron, "delete", "reminder-42", "--store", url, "--note", "left") == {
        "id": "reminder-42",
        "deleted": True,
    }
    assert "reminder-42" not in names(asked(kron, "jobs", "--store", url))
    assert asked(kron, "runs", "reminder-42", "--store", url) == []
    assert kron("delete", "reminder-42", "--store", url).status == 1


@pytest.mark.parametrize("verb", ["runs", "pause", "resume", "trigger", "delete"])
def test_unknown_job_gets_the_nearest_name(kron, url, verb):
    close = kron(verb, "reprot", "--store", url)
    assert (close.status, close.out) == (1, "")
    assert close.err == "error[NOT_FOUND]: job 'reprot' does not exist\n  hint: did you mean 'report'?\n"
    other = kron(verb, "x", "--store", url)
    assert other.err.endswith("hint: this store has 'broken', 'reminder-41', 'reminder-42' and others\n")


@pytest.mark.parametrize("verb", COMMANDS)
class TestStore:
    """What is said about the store itself, by each command."""

    def test_missing_file_is_not_created(self, kron, tmp_path, verb):
        result = kron(verb, *COMMANDS[verb], "--store", f"sqlite:{tmp_path}/typo.db")
        assert result.status == 1
        assert "error[NO_FILE]" in result.err
        assert list(tmp_path.iterdir()) == []

    def test_missing_option_says_what_to_write(self, kron, monkeypatch, verb):
        monkeypatch.delenv("KRON_STORE", raising=False)
        result = kron(verb, *COMMANDS[verb])
        assert result.status == 2
        assert result.err.endswith("no store given\n  hint: add --store sqlite:jobs.db, or set KRON_STORE\n")

    def test_memory_belongs_to_its_process(self, kron, verb):
        result = kron(verb, *COMMANDS[verb], "--store", "memory:")
        assert result.status == 2
        assert "a memory: store exists in its own process only" in result.err

    def test_help_has_an_example(self, kron, verb):
        shown = kron(verb, "--help").out
        assert "--store URL" in shown
        assert f"example:\n  kron {verb}" in shown


def test_database_without_tables_is_not_changed(kron, server):
    name = server.empty()
    try:
        result = kron("jobs", "--store", server.url(name))
        assert result.status == 1
        assert "kron migrate" in result.err
    finally:
        server.drop(name)


def test_store_of_the_environment_is_read(kron, url, monkeypatch):
    monkeypatch.setenv("KRON_STORE", url)
    assert "report" in names(asked(kron, "jobs"))
    assert kron("why", "report").status == kron("audit").status == 0


def test_empty_store_says_that_it_has_no_jobs(kron, tmp_path):
    with Scheduler(f"sqlite:{tmp_path}/jobs.db"):
        pass
    result = kron("pause", "a", "--store", f"sqlite:{tmp_path}/jobs.db")
    assert result.err.endswith("hint: this store has no jobs: start the application first\n")


APPLICATION = """
import sys, time
from kron import Scheduler

s = Scheduler(sys.argv[1])

def work():
    print("worked", flush=True)

s.add(work, "daily around 3:00", name="report")
with s:
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def application(url, tmp_path):
    """An application in a process of its own, on the same store."""
    script = tmp_path / "application.py"
    script.write_text(APPLICATION, encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script), url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_running_application_runs_what_a_command_triggers(application, url):
    """The commands are processes of their own, as in a shell."""
    triggered = command("trigger", "report", "--store", url, "--request", "now", "-o", "name")
    assert (triggered.returncode, triggered.stderr) == (0, "")
    assert application.stdout.readline() == "worked\n"
    end = time.monotonic() + 15
    while time.monotonic() < end:
        runs = json.loads(command("runs", "report", "--store", url, "-o", "json").stdout)
        (run,) = [run for run in runs if run["trigger"] == "now"]
        if run["state"] == "success":
            break
        time.sleep(0.1)
    assert (run["key"], run["trigger"], run["state"]) == (triggered.stdout.strip(), "now", "success")


@pytest.mark.slow
def test_run_waits_for_the_next_application_after_a_kill(application, url, tmp_path):
    application.send_signal(signal.SIGKILL)
    application.wait()
    assert command("trigger", "report", "--store", url).returncode == 0
    successor = subprocess.Popen(
        [sys.executable, str(tmp_path / "application.py"), url], stdout=subprocess.PIPE, text=True
    )
    try:
        lines = [successor.stdout.readline(), successor.stdout.readline()]
    finally:
        successor.kill()
        successor.wait()
        successor.stdout.close()
    assert sorted(lines) == ["ready\n", "worked\n"]


def test_job_that_has_had_its_runs_says_so(kron, tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    s = Scheduler(url)
    s.add(lambda: None, every="1s", name="once", max_runs=1)
    with s:
        while s.sync.get("once").runs_left:
            time.sleep(0.05)
    head, row = kron("jobs", "--store", url).out.splitlines()
    assert head.endswith("PAUSED")
    assert row.endswith("-     over after 1 run")
    (job,) = asked(kron, "jobs", "--store", url)
    assert (job["run_count"], job["runs_left"], job["next_run_at"]) == (1, 0, None)
    audited = kron("audit", "--store", url)
    assert audited.out.endswith("; the schedule has had its 1 run\n")
    (account,) = asked(kron, "audit", "--store", url)
    assert account["over"] == "the schedule has had its 1 run"
