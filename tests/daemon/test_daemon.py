"""The daemon as a process: it starts commands, stops, is killed, and its successor goes on."""

import os
import re
import signal
import stat
import subprocess
import time

import pytest

from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from tests.daemon.krond import EVERY_SECOND, NEVER, kron, soon, until


def line_of(path, number=1):
    """The content of a file that a command writes, when it has so many lines."""
    return until(lambda: path.exists() and path.read_text().count("\n") >= number and path.read_text())


def test_command_of_a_table_runs_and_why_knows_it(krond, tmp_path):
    krond.write("table", krond.job("tick", f"echo $KRON_PERIOD >> {tmp_path}/out"))
    krond.start()
    line_of(tmp_path / "out", 2)
    until(lambda: krond.events("run_finished"))
    assert krond.stop() == 0
    period = (tmp_path / "out").read_text().split()[0]
    shown = kron("why", krond.identity("tick"), "--store", f"sqlite:{krond.state}", "--at", period)
    assert "executed" in shown.stdout and shown.returncode == 0, shown
    assert kron("audit", "--store", f"sqlite:{krond.state}").returncode == 0


def test_state_is_readable_by_its_owner_only(krond):
    krond.state.parent.mkdir(mode=0o755)
    krond.write("table", krond.job("tick", "true", NEVER))
    krond.start()
    assert stat.S_IMODE(krond.state.stat().st_mode) == 0o600


@pytest.mark.req("KSPEC-IDEM-DAEMON")
def test_commands_outlive_a_killed_daemon_and_its_successor_records_their_ends(krond, tmp_path):
    """Of two commands that run when the daemon is killed, one ends before the next daemon starts, and one after."""
    once = soon()
    for name, wait, status in (("short", "gone", 3), ("long", "back", 4)):
        command = f"echo x >> {tmp_path}/{name}; while [ ! -e {tmp_path}/{wait} ]; do sleep 0.05; done; exit {status}"
        krond.write(name, krond.job(name, command, once))
    krond.start()
    line_of(tmp_path / "short"), line_of(tmp_path / "long")
    until(lambda: len(krond.events("launch_completed")) == 2)
    krond.kill()
    (tmp_path / "gone").touch()
    until(lambda: not is_running(krond, "gone"))
    krond.start()
    assert krond.events("krond_started")[-1]["adopted"] == 2
    until(lambda: [event["identity"] for event in krond.events("run_finished")] == [krond.identity("short", "short")])
    (tmp_path / "back").touch()
    until(lambda: len(krond.events("run_finished")) == 2)
    krond.stop()
    for name in ("short", "long"):
        (run,) = krond.runs(name, name)
        assert (run.state, run.outcome) == (State.FAILED, Outcome.EXECUTED)
        assert (tmp_path / name).read_text() == "x\n"


def is_running(krond, text):
    """Whether a process of a command has a text in its command line."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(f"{krond.folder}/{text}" in line for line in found.splitlines())


def test_sigterm_leaves_commands_alone_and_ends_at_once(krond, tmp_path):
    krond.write("table", krond.job("tick", f"echo $$ >> {tmp_path}/out; sleep 60", soon()))
    krond.start()
    pid = int(line_of(tmp_path / "out").split()[0])
    until(lambda: krond.events("launch_completed"))
    began = time.monotonic()
    assert krond.stop() == 0
    assert time.monotonic() - began < 2
    assert krond.events("krond_stopped")[-1]["running"] == 1
    os.kill(pid, 0)  # it lives


def test_wait_gives_commands_time_to_end(make_krond, tmp_path):
    krond = make_krond("--wait", "30s")
    krond.write("table", krond.job("tick", f"echo x >> {tmp_path}/out; sleep 2", soon()))
    krond.start()
    line_of(tmp_path / "out")
    assert krond.stop(40) == 0
    (run,) = krond.runs("tick")
    assert (run.state, krond.events("krond_stopped")[-1]["running"]) == (State.SUCCESS, 0)


def test_second_sigterm_ends_the_wait(make_krond, tmp_path):
    krond = make_krond("--wait", "1h")
    krond.write("table", krond.job("tick", f"echo x >> {tmp_path}/out; sleep 60", soon()))
    krond.start()
    line_of(tmp_path / "out")
    krond.send(signal.SIGTERM)
    time.sleep(1.5)
    assert krond.process.poll() is None
    assert krond.stop() == 0


def test_second_daemon_on_the_same_state_is_refused_with_the_pid_of_the_first(krond):
    krond.write("table", krond.job("tick", "true", NEVER))
    krond.start()
    second = krond.run()
    assert second.returncode == 1
    assert "error[STATE_IN_USE]" in second.stderr and f"the krond process {krond.process.pid}\n" in second.stderr
    krond.kill()
    krond.start()  # the lock of a process that was killed is free


def test_state_folder_that_others_can_write_is_refused(krond):
    krond.state.parent.mkdir()
    krond.state.parent.chmod(0o777)
    krond.write("table", krond.job("tick", "true", NEVER))
    refused = krond.run()
    assert (refused.returncode, "others can change it" in refused.stderr) == (1, True)


def test_missing_config_folder_ends_the_daemon_with_a_hint(krond):
    krond.tables.rmdir()
    refused = krond.run()
    assert (refused.returncode, "hint: create the folder" in refused.stderr) == (1, True)


def test_sigusr1_writes_the_state_to_the_log(krond):
    krond.write("table", krond.job("tick", "true", NEVER))
    krond.write("wrong", "nonsense")
    krond.start()
    krond.send(signal.SIGUSR1)
    (state,) = until(lambda: krond.events("krond_state"))
    assert (state["tables"], state["refused"], state["jobs"], state["running"]) == (2, 1, 1, 0)
    assert state["pid"] == krond.process.pid


def test_once_starts_what_is_due_and_ends(krond, tmp_path):
    krond.write("table", krond.job("tick", f"echo x >> {tmp_path}/out"))
    assert krond.run("--once", "--wait", "20s").returncode == 0  # defines the job
    time.sleep(1.5)
    assert krond.run("--once", "--wait", "20s").returncode == 0
    assert {run.state for run in krond.runs("tick")} == {State.SUCCESS}
    assert (tmp_path / "out").read_text().count("x") == len(krond.runs("tick")) > 0


def test_dry_run_shows_next_runs_and_problems_and_stores_nothing(krond):
    krond.write("table", "0 3 * * * name=nightly command=true")
    good = krond.run("--dry-run")
    assert good.returncode == 0
    assert re.search(rf"^20\S+T03:00:00Z  nightly  {krond.tables}/table$", good.stdout, re.MULTILINE)
    krond.write("wrong", "0 25 * * * name=x command=true")
    (krond.tables / "old.bak").touch()
    bad = krond.run("--dry-run")
    assert bad.returncode == 1
    assert f"{krond.tables}/wrong:1:3: error[" in bad.stderr and "\n    ^^\n" in bad.stderr
    assert f"{krond.tables}/old.bak is not a table" in bad.stderr
    assert "2 tables, 1 job, 1 table refused" in bad.stderr
    assert not krond.state.parent.exists()


def test_log_is_logfmt_by_default(make_krond):
    krond = make_krond("--log", "logfmt")
    krond.write("table", krond.job("tick", "true", NEVER))
    krond.write("wrong", "nonsense")
    done = krond.run("--once")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert all(re.match(r'at=20\S+Z level=\w+ event=\w+ message="', line) for line in lines), lines
    (refused,) = [line for line in lines if "event=table_refused" in line]
    assert f'level=error event=table_refused message="table {krond.tables}/wrong refused' in refused
    assert r'excerpt="  nonsense\n' in refused


@pytest.mark.parametrize("words", [["--wait", "soon"], ["--once", "--dry-run"], ["--log", "xml"]])
def test_wrong_command_line_has_status_2(krond, words):
    with_words = krond.run(*words) if words[0] != "--wait" else krond.run("--once", *words)
    assert with_words.returncode == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_host_daemon_needs_root(krond):
    command = ["setpriv", "--reuid", "65534", "--clear-groups", "--", *krond.command()]
    command.remove("--user")
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode in (1, 126) and ("krond --user" in refused.stderr or "Permission" in refused.stderr)


@pytest.mark.privileges
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_host_daemon_runs_a_job_as_its_user(krond, tmp_path):
    out = tmp_path / "out"
    out.touch()
    out.chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    krond.write("table", krond.job("tick", f"id -un >> {out}", EVERY_SECOND, more="user=nobody"))
    krond.options = ()
    command = krond.command()
    command.remove("--user")
    krond.command = lambda *more: [*command, *more]
    krond.start()
    assert line_of(out).split()[0] == "nobody"
