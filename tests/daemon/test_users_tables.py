"""Users' tables of the krond of a host: who installs them, as whom they run, and who sees what."""

import json
import os
import signal
import stat
import subprocess

import pytest

from kron.rules.run import State
from tests.daemon.host_krond import HostKrond, needs_other_user
from tests.daemon.krond import BIN, EVERY_SECOND, NEVER, until

pytestmark = pytest.mark.slow


@pytest.fixture
def krond(tmp_path):
    needs_other_user()
    made = HostKrond(tmp_path)
    yield made
    made.close()


def line(krond, name, command, schedule=NEVER, more=""):
    return f"{krond.job(name, command, schedule, more=more)}\n"


def install(krond, text):
    result = krond.krontab("install", "-", answer=text)
    assert result.returncode == 0, result
    return result


def test_job_of_a_user_runs_as_that_user_with_its_groups(krond):
    """The table is in force when krontab returns. What is recorded as asker is what the kernel says."""
    krond.start()
    assert "table nobody installed: 1 job" in install(krond, line(krond, "who", "id; echo $HOME")).stderr
    table, identity = krond.spool / "nobody", f"{krond.spool}/nobody:who"
    assert (stat.S_IMODE(table.stat().st_mode), table.stat().st_uid) == (0o600, 65534)
    assert stat.S_IMODE(krond.spool.stat().st_mode) == 0o700
    assert krond.names() == [identity]
    (request,) = json.loads(krond.krontab("run", "who", "--note", "now", "-o", "json").stdout)
    until(lambda: krond.ask(lambda store: store.runs(identity, 1))[0].state is State.SUCCESS)
    (run,) = json.loads(krond.krontab("history", "who", "-o", "json").stdout)
    assert (run["key"], run["state"]) == (request["key"], "success")
    shown = krond.krontab("log", "who").stdout
    expected = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--init-groups", "id"], capture_output=True, text=True, check=True
    )
    assert expected.stdout in shown and "== nobody:who, period 20" in shown and "/nonexistent" in shown
    assert krond.krontab("pause", "who", "--note", "full").returncode == 0
    (action,) = krond.ask(lambda store: store.actions(identity))
    assert (action.actor, action.note) == ("krontab pause (nobody)", "full")


def test_user_sees_and_changes_only_the_own_table(krond):
    krond.write("host", line(krond, "secret", "echo treasure").strip())
    krond.start()
    install(krond, line(krond, "mine", "true"))
    root_identity = krond.identity("secret", "host")
    assert krond.as_root("run", "secret").returncode == 0
    until(lambda: krond.ask(lambda store: store.runs(root_identity, 1))[0].state is State.SUCCESS)
    everything = [krond.krontab(*words) for words in (["status"], ["list"], ["next"], ["log"], ["history", "x"])]
    for command in ("why", "history", "run", "pause", "resume", "log"):
        for name in ("secret", "host:secret", root_identity, f"{krond.spool}/root:x", "../host:secret"):
            result = krond.krontab(command, name)
            assert result.returncode == 1 and "error[NOT_FOUND]" in result.stderr, result
            everything.append(result)
    (run,) = krond.ask(lambda store: store.runs(root_identity, 10))
    foreign_key = krond.krontab("why", "mine", "--run", run.key)
    assert foreign_key.returncode == 1 and "has no run with the key" in foreign_key.stderr
    for words in (["list", "host"], ["remove", "host", "--yes"], ["-u", "root", "status"], ["reload"]):
        result = krond.krontab(*words)
        assert result.returncode in (1, 2) and "error[" in result.stderr, result
        everything.append(result)
    assert not any("treasure" in each.stdout for each in everything)
    assert not any("secret" in each.stdout + each.stderr for each in everything[:5])
    assert (krond.tables / "host").exists()
    assert json.loads(krond.krontab("status", "-o", "json").stdout)["jobs"] == 1


def test_root_sees_all_tables_and_one_user_by_name(krond):
    krond.write("host", line(krond, "backup", "true").strip())
    krond.start()
    install(krond, line(krond, "mine", "true"))
    mine = f"{krond.spool}/nobody:mine"
    for ask in (krond.as_root, lambda *words: krond.krontab(*words, rights=())):
        status = json.loads(ask("status", "-o", "json").stdout)
        assert status["tables"] == {"host": "in force", f"{krond.spool}/nobody": "in force"}
        assert {each["job"] for each in status["next"]} == {"host:backup", mine}
        assert "name=mine" in ask("-l", "nobody", "-u", "nobody").stdout
        assert ask("pause", "mine").returncode == ask("resume", mine).returncode == 0
        assert ask("history", "backup", "-u", "nobody").returncode == 1
    replaced = krond.as_root("-u", "nobody", "-", answer=line(krond, "other", "true"))
    assert "table nobody replaced" in replaced.stderr
    assert (krond.spool / "nobody").stat().st_uid == 65534
    until(lambda: krond.names() == [krond.identity("backup", "host"), f"{krond.spool}/nobody:other"])
    assert krond.as_root("-r", "-u", "nobody", "--yes").returncode == 0
    until(lambda: krond.names() == [krond.identity("backup", "host")])
    assert "2 tables" not in krond.krontab("reload", rights=()).stderr


@pytest.mark.parametrize("key", ["user=root", "user=0", "group=shadow", "group=0"])
def test_table_of_a_user_cannot_name_another_user(krond, key):
    krond.start()
    install(krond, line(krond, "old", "true"))
    result = krond.krontab("install", "-", answer=line(krond, "evil", "id", more=key))
    assert result.returncode == 1 and "error[FOREIGN_USER]" in result.stderr and "^^^^" in result.stderr
    assert f"{krond.spool}/nobody:1:" in result.stderr
    assert krond.names() == [f"{krond.spool}/nobody:old"]


def test_editor_of_a_user_works_on_a_copy(krond, tmp_path):
    krond.start()
    script = krond.open_folder / "editor"
    script.write_text(f"#!/bin/sh\nsed -i 's/^#.*/{NEVER} name=new command=true/; s/name=old/name=changed/' $1\n")
    script.chmod(0o755)
    home = {"EDITOR": str(script), "TMPDIR": "/tmp"}
    assert "table nobody installed" in krond.krontab("-e", **home).stderr
    install(krond, f"{NEVER} name=old command=true\n")
    assert "table nobody replaced" in krond.krontab("-e", **home).stderr
    assert krond.names() == [f"{krond.spool}/nobody:changed"]
    late = krond.krontab("install", "-", "--replaces", "0" * 64, answer=line(krond, "late", "true"))
    assert late.returncode == 1 and "changed while it was edited" in late.stderr
    assert krond.krontab("-r", answer="n\n").returncode == 1
    assert krond.krontab("-r", answer="y\n").returncode == 0
    assert krond.names() == []


def test_allow_and_deny_decide_who_may_ask(krond, tmp_path):
    krond.start()
    (tmp_path / "krond.deny").write_text("daemon\nnobody # for now\n")
    denied = krond.krontab("install", "-", answer=line(krond, "mine", "true"))
    assert denied.returncode == 1 and "error[FORBIDDEN]: user 'nobody' is in " in denied.stderr
    (tmp_path / "krond.allow").write_text("daemon\n")
    assert "is not in" in krond.krontab("status").stderr
    (tmp_path / "krond.allow").write_text("daemon\nnobody\n")
    install(krond, line(krond, "mine", "true"))
    (tmp_path / "krond.allow").write_text("")
    assert krond.krontab("status", rights=()).returncode == 0
    (tmp_path / "krond.allow").chmod(0o666)
    assert "error[UNSAFE_FILE]" in krond.krontab("status").stderr


def test_jobs_of_a_user_who_is_gone_do_not_stay_in_force(krond):
    krond.start()
    install(krond, line(krond, "mine", "true"))
    os.chown(krond.spool / "nobody", 1, 1)  # as if the name had been given to another user
    (krond.spool / "no-such-user").write_text(line(krond, "x", "true"))
    until(lambda: {each["code"] for each in krond.events("table_refused")} == {"UNSAFE_FILE", "NO_ACCOUNT"})
    until(lambda: krond.names() == [])
    os.chown(krond.spool / "nobody", 65534, 65534)
    until(lambda: krond.names() == [f"{krond.spool}/nobody:mine"])


def test_log_of_a_user_is_followed(krond):
    krond.start()
    install(krond, line(krond, "tick", "echo $KRON_PERIOD", EVERY_SECOND))
    out = krond.folder / "followed"
    with out.open("wb") as file:
        follower = subprocess.Popen([BIN / "krontab", "log", "-f", "--socket", krond.socket], stdout=file, cwd="/")
    try:
        until(lambda: out.read_text().count("\n20") >= 3)
    finally:
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
    assert krond.krontab("status").returncode == 0
