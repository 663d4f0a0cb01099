"""Users' tables of the krond of a host: who installs them, as whom they run, and who sees what."""

import json
import os
import signal
import stat
import subprocess

import pytest

from kron.rules.run_state import State
from tests.daemon.host_krond import NOBODY, HostKrond, needs_other_user
from tests.daemon.krond import BIN, EVERY_SECOND, NEVER, soon, until

pytestmark = pytest.mark.slow


@pytest.fixture
def krond(tmp_path):
    needs_other_user()
    made = HostKrond(tmp_path)
    yield made
    made.close()


def line(krond, name, command, schedule=NEVER, more=""):
    return f"{krond.job(name, command, schedule, more=more)}\n"


def await_success(krond, identity):
    until(lambda: krond.ask(lambda store: store.runs(identity, 1))[0].state is State.SUCCESS)


@pytest.mark.privileges
def test_user_installs_runs_edits_and_removes_a_table_by_krontab(krond):
    """The table is in force when krontab returns. The asker is recorded as the kernel names it, not the environment."""
    krond.start()
    draft = krond.open_folder / "draft"
    draft.write_text(line(krond, "who", "id; echo $HOME"))
    draft.chmod(0o644)
    assert krond.krontab(str(draft)).stderr == "table nobody installed: 1 job\n"
    table, identity = krond.spool / "nobody", f"{krond.spool}/nobody:who"
    assert (stat.S_IMODE(table.stat().st_mode), table.stat().st_uid) == (0o600, 65534)
    assert (stat.S_IMODE(krond.spool.stat().st_mode), stat.S_IMODE(krond.socket.stat().st_mode)) == (0o700, 0o666)
    assert krond.names() == [identity]
    (request,) = json.loads(krond.krontab("run", "who", "--note", "now", "-o", "json").stdout)
    await_success(krond, identity)
    history, log, pause = krond.ask_as_nobody(
        ["history", "who", "-o", "json"], ["log", "who"], ["pause", "who", "--note", "full"]
    )
    assert [(run["key"], run["state"]) for run in json.loads(history.out)] == [(request["key"], "success")]
    own_id = subprocess.run([*NOBODY, "id"], capture_output=True, text=True, check=True).stdout
    assert own_id in log.out and "== nobody:who, period 20" in log.out and "/nonexistent\n" in log.out
    (action,) = krond.ask(lambda store: store.actions(identity))
    assert (pause.status, action.actor, action.note) == (0, "krontab pause (nobody)", "full")
    editor = krond.open_folder / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/name=who/name=changed/ $1\n")
    editor.chmod(0o755)
    assert krond.krontab("-e", EDITOR=str(editor)).stderr == "table nobody replaced: 1 job\n"
    assert krond.names() == [f"{krond.spool}/nobody:changed"]
    (late,) = krond.ask_as_nobody((["install", "--replaces", "0" * 64, "-"], line(krond, "late", "true")))
    assert late.status == 1 and "changed while it was edited" in late.err
    assert krond.krontab("-r", answer="n\n").returncode == 1
    assert krond.krontab("-r", answer="y\n").returncode == 0
    assert krond.names() == []


@pytest.mark.privileges
def test_user_sees_and_changes_only_the_own_table(krond):
    krond.write("host", line(krond, "secret", "echo treasure").strip())
    krond.start()
    krond.install(line(krond, "gone", "true"))
    krond.install(line(krond, "mine", "true"))
    foreign, (seen, *_) = krond.identity("secret", "host"), krond.ask_as_nobody(["status", "-o", "json"])
    assert json.loads(seen.out)["jobs"] == 1
    assert krond.as_root("run", "secret").returncode == 0
    await_success(krond, foreign)
    (run,) = krond.ask(lambda store: store.runs(foreign, 10))
    names = ("secret", "host:secret", foreign, f"{krond.spool}/root:x", "../host:secret")
    commands = ("why", "history", "run", "pause", "resume", "log")
    for reply in krond.ask_as_nobody(*([command, name] for command in commands for name in names)):
        assert (reply.status, reply.codes, reply.out) == (1, ["NOT_FOUND"], ""), reply
    for reply in krond.ask_as_nobody(["status"], ["list"], ["next"], ["log"], ["history", "x"], ["run", "gone"]):
        assert "secret" not in reply.out + reply.err and "treasure" not in reply.out, reply
    (gone,) = krond.ask_as_nobody(["run", "gone"])
    assert (gone.codes, "'nobody:gone' is no longer in a table" in gone.err) == (["NOT_FOUND"], True)
    refused = krond.ask_as_nobody(
        ["why", "mine", "--run", run.key],
        ["list", "host"],
        ["remove", "host", "--yes"],
        (["install", "--name", "host", "-"], line(krond, "evil", "id")),
        ["status", "-u", "root"],
        ["reload"],
    )
    codes = ["NOT_FOUND", "NOT_FOUND", "USAGE", "USAGE", "FORBIDDEN", "FORBIDDEN"]
    assert [(bool(reply.status), *reply.codes) for reply in refused] == [(True, code) for code in codes]
    keys = ("user=root", "user=0", "group=shadow", "group=0", "stdout=inherit")
    tables = [(["install", "-"], line(krond, "evil", "id", more=key)) for key in keys]
    for reply, key in zip(krond.ask_as_nobody(*tables), keys, strict=True):
        assert (
            reply.codes == ["FOREIGN_USER"] and f"{krond.spool}/nobody:1:" in reply.err and "^" * len(key) in reply.err
        )
    assert krond.names() == [f"{krond.spool}/nobody:mine", foreign]


def test_root_sees_all_tables_and_one_user_by_name(krond):
    krond.write("host", line(krond, "backup", "true").strip())
    krond.start()
    krond.install(line(krond, "mine", "true"))
    mine, backup = f"{krond.spool}/nobody:mine", krond.identity("backup", "host")
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
    until(lambda: krond.names() == [f"{krond.spool}/nobody:other", backup])
    assert krond.as_root("-r", "-u", "nobody", "--yes").returncode == 0
    assert krond.krontab("reload", rights=()).stderr == "1 table, 1 job\n"
    assert krond.names() == [backup]


def test_allow_and_deny_decide_who_may_ask(krond, tmp_path):
    krond.start()
    allow, deny, request = (
        tmp_path / "krond.allow",
        tmp_path / "krond.deny",
        (["install", "-"], line(krond, "a", "true")),
    )
    deny.write_text("daemon\nnobody # for now\n")
    (denied,) = krond.ask_as_nobody(request)
    assert (denied.codes, "user 'nobody' is in " in denied.err) == (["FORBIDDEN"], True)
    allow.write_text("daemon\n")
    (unnamed,) = krond.ask_as_nobody(["status"])
    assert (unnamed.codes, "is not in" in unnamed.err) == (["FORBIDDEN"], True)
    allow.write_text("daemon\nnobody\n")
    (allowed,) = krond.ask_as_nobody(request)
    allow.chmod(0o666)
    (unsafe,) = krond.ask_as_nobody(["status"])
    assert (allowed.status, unsafe.codes) == (0, ["UNSAFE_FILE"])


@pytest.mark.privileges
def test_jobs_of_a_user_who_is_gone_do_not_stay_in_force(krond):
    krond.start()
    krond.install(line(krond, "mine", "true"))
    os.chown(krond.spool / "nobody", 1, 1)  # as if the name had been given to another user
    (krond.spool / "no-such-user").write_text(line(krond, "x", "true"))
    until(lambda: {each["code"] for each in krond.events("table_refused")} == {"UNSAFE_FILE", "NO_ACCOUNT"})
    until(lambda: krond.names() == [])
    os.chown(krond.spool / "nobody", 65534, 65534)
    until(lambda: krond.names() == [f"{krond.spool}/nobody:mine"])


def test_log_of_a_user_is_followed(krond):
    krond.start()
    krond.install(line(krond, "tick", "echo $KRON_PERIOD", EVERY_SECOND))
    out = krond.folder / "followed"
    with out.open("wb") as file:
        command = [*NOBODY, BIN / "krontab", "log", "-f", "--socket", krond.socket]
        follower = subprocess.Popen(command, stdout=file, cwd="/")
    try:
        until(lambda: out.read_text().count("\n20") >= 3)
    finally:
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
    (status,) = krond.ask_as_nobody(["status"])
    assert status.status == 0


def test_user_starts_a_bounded_number_of_jobs_per_second(krond):
    """50 jobs are due at once; the first and the last start have two seconds between them."""
    once, identity = soon(), f"{krond.spool}/nobody:"
    krond.start()
    krond.install("".join(line(krond, f"job{number}", "true", once) for number in range(50)))
    states = until(lambda: _ended(krond, 50), 60)
    starts = sorted(run.started for run in states)
    assert all(run.identity.startswith(identity) for run in states)
    assert starts[-1] - starts[0] >= 1_900


def _ended(krond, count):
    """The runs of nobody's jobs, when so many have ended."""
    found = [krond.ask(lambda store, n=name: store.runs(n, 1)) for name in krond.names()] if krond.names() else []
    runs = [run for (run,) in found if run.state is State.SUCCESS] if all(found) else []
    return runs if len(runs) == count else None
