"""Reload: changes of tables are installed, a bad table changes nothing, and a vanished one takes its jobs along."""

import os
import shutil
import signal
import time

import pytest

from tests.daemon.krond import NEVER, kron, soon, until


def loaded(krond, count):
    return until(lambda: len(krond.events("table_loaded")) >= count)


@pytest.fixture
def running(krond):
    krond.write("table", krond.job("a", "true", NEVER), krond.job("b", "true", NEVER))
    krond.write("other", krond.job("c", "true", NEVER))
    krond.start()
    return krond


def installed(krond, *names):
    return until(lambda: krond.names() == sorted(krond.identity(*reversed(name.split("/"))) for name in names))


def test_changed_table_is_installed_by_itself(running):
    running.write("table", running.job("a", "true", NEVER), running.job("new", "true", NEVER))
    installed(running, "table/a", "table/new", "other/c")
    until(lambda: running.events("table_loaded")[-1]["deleted"] == 1)


def test_new_and_vanished_tables_are_noticed(running):
    running.write("third", running.job("d", "true", NEVER))
    installed(running, "table/a", "table/b", "other/c", "third/d")
    (running.tables / "table").unlink()
    installed(running, "other/c", "third/d")
    events = until(lambda: running.events("table_removed"))
    assert [(event["path"], event["deleted"]) for event in events] == [(f"{running.tables}/table", 2)]


def test_moved_file_is_another_table(running):
    (running.tables / "table").rename(running.tables / "renamed")
    installed(running, "renamed/a", "renamed/b", "other/c")


def test_bad_line_keeps_the_old_table_and_other_tables_go_on(running):
    running.write("table", running.job("a", "false", NEVER), "0 25 * * * name=x command=true")
    running.write("other", running.job("e", "true", NEVER))
    refused = until(lambda: running.events("table_refused"))
    installed(running, "table/a", "table/b", "other/e")
    (event,) = refused
    assert (event["level"], event["place"], event["kept"]) == ("error", f"{running.tables}/table:2:3", 2)
    assert event["excerpt"].splitlines()[1] == "    ^^"
    job = running.ask(lambda store: store.get([running.identity("a")]))[0].job
    assert job.command.line == "true"
    running.write("table", running.job("a", "false", NEVER))
    installed(running, "table/a", "other/e")


def test_table_that_becomes_unsafe_stays_in_force(running):
    (running.tables / "table").chmod(0o666)
    (event,) = until(lambda: running.events("table_refused"))
    assert (event["code"], event["kept"]) == ("UNSAFE_FILE", 2)
    assert len(running.names()) == 3
    (running.tables / "table").chmod(0o644)
    until(lambda: len(running.events("table_loaded")) == 3)


def test_folder_that_vanishes_keeps_all_jobs(running):
    hidden = running.folder / "hidden"
    running.tables.rename(hidden)
    until(lambda: running.events("tables_unreadable"))
    assert len(running.names()) == 3
    hidden.rename(running.tables)
    running.send(signal.SIGHUP)
    running.write("table", running.job("a", "true", NEVER))
    installed(running, "table/a", "other/c")


def test_folder_that_is_made_again_is_noticed_by_itself_and_its_absence_is_logged_once(running):
    shutil.rmtree(running.tables)
    until(lambda: running.events("tables_unreadable"))
    time.sleep(2.5)
    running.tables.mkdir(mode=0o755)
    running.write("table", running.job("z", "true", NEVER))
    installed(running, "table/z")
    assert len(running.events("tables_unreadable")) == 1


def test_folder_that_is_replaced_is_watched_again(running):
    old, new = running.folder / "old", running.folder / "new"
    new.mkdir(mode=0o755)
    running.tables.rename(old)
    new.rename(running.tables)
    running.send(signal.SIGHUP)
    installed(running)
    running.write("table", running.job("z", "true", NEVER))
    installed(running, "table/z")


def test_table_in_place_of_which_a_symlink_comes_stays_in_force(running, tmp_path):
    target = tmp_path / "target"
    target.write_text("")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "link").rename(running.tables / "table")
    (event,) = until(lambda: running.events("table_refused"))
    assert ("symbolic link" in event["error"], event["kept"], len(running.names())) == (True, 2, 3)


def test_ignored_file_is_named_once(running):
    (running.tables / "table.bak").touch()
    (event,) = until(lambda: running.events("table_ignored"))
    assert (event["path"], event["level"]) == (f"{running.tables}/table.bak", "warning")
    running.write("other", running.job("e", "true", NEVER))
    loaded(running, 3)
    assert len(running.events("table_ignored")) == 1


def test_table_edited_while_the_daemon_was_down_is_installed_at_its_start(running):
    running.kill()
    running.write("table", running.job("f", "true", NEVER))
    (running.tables / "other").unlink()
    running.start()
    assert running.names() == [running.identity("f")]


def test_job_that_comes_back_keeps_its_history(krond, tmp_path):
    """A deleted job is a tombstone: what it handled stays handled."""
    line = krond.job("a", f"echo $KRON_KEY >> {tmp_path}/out")
    krond.write("table", line)
    krond.start()
    until(lambda: krond.events("run_finished"))
    (krond.tables / "table").unlink()
    until(lambda: krond.events("table_removed"))
    krond.write("table", line)
    finished = len(krond.events("run_finished"))
    until(lambda: len(krond.events("run_finished")) > finished)
    krond.stop()
    keys = (tmp_path / "out").read_text().split()
    assert len(keys) == len(set(keys))
    assert kron("audit", "--store", f"sqlite:{krond.state}").returncode == 0


def test_schedules_of_other_programs_stay(running, tmp_path):
    lines = tmp_path / "jobs.ndjson"
    lines.write_text('{"identity": "team/job", "schedule": "0 0 1 1 *", "command": "true"}\n')
    running.kill()
    assert kron("load", str(lines), "--store", f"sqlite:{running.state}").returncode == 0
    running.start()
    assert "team/job" in running.names()


def test_pause_survives_a_reload(running):
    paused = kron("pause", running.identity("a"), "--store", f"sqlite:{running.state}", "--note", "holiday")
    assert paused.returncode == 0, paused
    running.write("table", running.job("a", "echo", NEVER))
    loaded(running, 3)
    assert running.ask(lambda store: store.get([running.identity("a")]))[0].paused


def test_reload_never_waits_for_commands(krond, tmp_path):
    krond.write("table", krond.job("a", f"echo x >> {tmp_path}/out; sleep 60", soon()))
    krond.start()
    until((tmp_path / "out").exists)
    began = time.monotonic()
    krond.write("table", krond.job("b", "true", NEVER))
    installed(krond, "table/b")
    assert time.monotonic() - began < 10
    os.kill(krond.process.pid, 0)
