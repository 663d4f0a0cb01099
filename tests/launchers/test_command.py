"""Commands of a host: real processes, begun once each, whatever becomes of the worker."""

import asyncio
import json
import os
import pwd
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kron.engine.clock import SystemClock
from kron.engine.registrar import Registrar
from kron.launchers.command.journal import Entry, Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.process import boot, ticks
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Command
from kron.timing.schedule.policy import KRON, MILLISECOND, SECOND, WorkerLossPolicy
from tests.launchers.making import NOMINAL, Ear, a_launch, result_of

KRON_COMMAND = Path(sys.executable).with_name("kron")


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


def ran(journal, launch, *, ear=None, until=None, whole=False):
    """What a new launcher answers; it is let go when it has said that."""
    ear = ear or Ear()

    async def started():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        answer = await launcher.start(launch)
        if until:
            await ear.until(until)
            while launcher.tasks:
                await asyncio.sleep(0.01)
        return answer if whole else result_of(answer)

    return asyncio.run(started())


@pytest.mark.parametrize(("line", "said", "status"), [("exit 0", Report.SUCCESS, 0), ("exit 3", Report.FAILED, 3)])
def test_a_command_is_run_and_its_end_reported(journal, line, said, status):
    launch = a_launch(command=Command(line))
    assert ran(journal, launch, until=said) is LaunchResult.OK
    assert journal.look(launch.run.key).status == status
    assert [path.name for path in journal.folder.glob("*.status")] == []


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (Command("exit 3"), (Report.FAILED, 3, "")),
        (Command("exit 0"), (Report.SUCCESS, 0, "")),
        (
            Command("sleep 60", timeout=200 * MILLISECOND),
            (Report.FAILED, 128 + signal.SIGTERM, "the command exceeded its timeout and was killed"),
        ),
    ],
)
def test_end_of_a_command_is_reported_with_its_status(journal, command, end):
    ear = Ear()
    ran(journal, a_launch(command=command), ear=ear, until=end[0])
    assert ear.ends[-1] == end


def test_command_that_cannot_start_says_why(journal):
    answer = ran(journal, a_launch(command=Command("true", cwd="/nowhere")), whole=True)
    assert answer.result is LaunchResult.REJECTED
    assert answer.excerpt == "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'"
    assert ran(journal, a_launch(), whole=True).excerpt == "the job has no command"


def test_a_command_sees_what_it_is_given_and_nothing_of_the_worker_s_secrets(journal, tmp_path, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "secret")
    out, line = tmp_path / "out", "pwd; env; umask; printf '%s\\n' \"it's $((1+1)); `echo x`\"; cat; echo oops >&2"
    command = Command(
        line, cwd=str(tmp_path), env=(("COLOUR", "blue"),), umask=0o27, stdout=str(out), stderr=str(tmp_path / "err")
    )
    ran(journal, a_launch(command=command), until=Report.SUCCESS)
    first, *rest = out.read_text().splitlines()
    assert first == str(tmp_path)
    assert "COLOUR=blue" in rest and not any("secret" in text for text in rest)
    assert rest[-2:] == ["0027", "it's 2; x"]  # and nothing to read
    assert (tmp_path / "err").read_text() == "oops\n"


def test_what_cannot_be_started_is_refused_for_good(journal):
    launch = a_launch(command=Command("true", cwd="/there/is/no/such/folder"))
    assert ran(journal, launch) is LaunchResult.REJECTED
    assert ran(journal, a_launch()) is LaunchResult.REJECTED  # no command at all
    assert ran(journal, a_launch(command=Command("a\0b"), nominal=60)) is LaunchResult.REJECTED


class Laborious(Journal):
    """A journal on a slow disk."""

    def begin(self, key, now):
        time.sleep(0.3)
        return super().begin(key, now)


def test_on_a_slow_disk_a_command_is_begun_in_its_turn_or_certainly_not(tmp_path):
    """Of a launch that is given up later, nobody would know whether its command ran."""
    journal, ear = Laborious(tmp_path / "journal"), Ear()

    async def script():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        launcher.patience = 0.5
        launches = [a_launch(command=Command("true"), nominal=60 * n) for n in range(40)]
        answers = await asyncio.gather(*(launcher.start(launch) for launch in launches))
        while launcher.tasks:
            await asyncio.sleep(0.01)
        return [(getattr(said, "result", said), launch.run.key) for said, launch in zip(answers, launches, strict=True)]

    answers = asyncio.run(script())
    assert {answer for answer, _ in answers} == {LaunchResult.OK, LaunchResult.UNSENT}
    assert all((journal.look(key) is not None) == (answer is LaunchResult.OK) for answer, key in answers)


def test_a_command_whose_launch_was_given_up_is_followed_to_its_end(tmp_path):
    journal, ear = Laborious(tmp_path / "journal"), Ear()

    async def script():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await launcher.start(a_launch(command=Command(f"echo ran >> {tmp_path}/out")))
        await ear.until(Report.SUCCESS)
        while launcher.tasks:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(script(), 30))
    assert (tmp_path / "out").read_text() == "ran\n"


def test_start_that_is_asked_for_again_has_the_result_of_the_first(tmp_path):
    """The caller was stopped for longer than it waits; the start itself went on."""

    class SlowNotes(Journal):
        def started(self, *args):
            time.sleep(0.5)
            return super().started(*args)

    journal, ear = SlowNotes(tmp_path / "journal"), Ear()

    async def script():
        launcher, launch = CommandLauncher(journal, ear, beat=0.02), a_launch(command=Command("sleep 1"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await launcher.start(launch)
        assert await launcher.start(launch) is LaunchResult.OK
        assert not launcher.starting
        await ear.until(Report.SUCCESS)
        while launcher.tasks:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(script(), 30))


def test_a_command_that_takes_too_long_is_ended_with_its_children(journal, tmp_path):
    pids, began = tmp_path / "pids", time.monotonic()
    line = f"echo $$ > {pids}; sleep 60 & echo $! >> {pids}; wait"
    launch = a_launch(command=Command(line, timeout=SECOND // 2), policy=replace(KRON, run_lease=300 * MILLISECOND))
    ear = Ear()
    ran(journal, launch, ear=ear, until=Report.FAILED)
    assert time.monotonic() - began < 30
    assert ear.heard[0] is Report.STARTED  # it lived
    assert [ticks(int(pid)) for pid in pids.read_text().split()] == [None, None]


def test_a_command_that_is_cancelled_is_asked_to_end(journal):
    ear, launch = Ear(), a_launch(command=Command("sleep 60"))

    async def cancelled():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(launch)
        await launcher.cancel(launch.run)
        await ear.until(Report.FAILED)

    asyncio.run(cancelled())


def test_journal_write_is_on_the_disk_when_it_returns(journal):
    """Otherwise a power failure forgets that a command was begun, and it is begun again."""
    with closing(journal._open()) as file:
        assert file.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.req("KSPEC-IDEM-DAEMON")
def test_a_key_that_was_begun_is_never_begun_again(journal, tmp_path):
    """By another worker of the host, while it runs and when it has ended: it is followed, and its end reported."""
    out, go = tmp_path / "out", tmp_path / "go"
    launch = a_launch(command=Command(f"echo run >> {out}; while [ ! -e {go} ]; do sleep 0.05; done"))
    ear = Ear()

    async def both():
        first, second = CommandLauncher(journal, Ear(), beat=0.02), CommandLauncher(journal, ear, beat=0.02)
        assert [await first.start(launch), await second.start(launch)] == [LaunchResult.OK, LaunchResult.OK]
        await ear.until(Report.STARTED)
        go.touch()
        await ear.until(Report.SUCCESS)
        while first.tasks:
            await asyncio.sleep(0.01)

    asyncio.run(both())
    later = Ear()
    assert ran(journal, launch, ear=later, until=Report.SUCCESS) is LaunchResult.OK
    assert out.read_text() == "run\n"


@pytest.mark.req("KSPEC-IDEM-DAEMON")
def test_a_command_that_may_have_begun_is_not_known_to_have(journal):
    """The worker died between its note and the start: at most once is what a host promises, unless asked otherwise."""
    launch = a_launch(command=Command("exit 0"))
    assert journal.begin(launch.run.key, int(time.time()))
    assert ran(journal, launch) is LaunchResult.UNKNOWN
    again = a_launch(
        command=Command("exit 0"), policy=replace(KRON, on_worker_loss=WorkerLossPolicy.RESTART), attempt=2
    )
    assert ran(journal, again, until=Report.SUCCESS) is LaunchResult.OK


def test_a_process_is_known_by_its_number_its_beginning_and_the_run_of_the_machine(journal):
    own = Entry(0, boot(), os.getpid(), ticks(os.getpid()))
    assert own.alive
    assert not own._replace(ticks=(own.ticks or 0) + 1).alive  # another has its number
    assert not own._replace(boot="before the last start").alive
    assert not own._replace(status=0).alive
    assert not Entry().alive


@pytest.mark.parametrize("early", [True, False], ids=["before it was noted", "afterwards"])
def test_a_command_that_left_no_status_is_not_followed_for_ever(journal, early):
    """It was killed together with all that knew of it, or the machine was; perhaps before it was even noted."""
    now = int(time.time())
    assert journal.begin("a", now)
    ghost = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    if early:
        ghost.kill()
        waited(lambda: ticks(ghost.pid) is None)  # dead, and not buried
    journal.started("a", ghost.pid)
    ghost.kill()
    ghost.communicate()
    assert journal.unended() == ["a"]

    async def adopted():
        launcher = CommandLauncher(journal, Ear())
        launcher.adopt()
        async with asyncio.timeout(10):
            while launcher.tasks:
                await asyncio.sleep(0.01)

    asyncio.run(adopted())
    assert (journal.unended(), journal.look("a")) == ([], Entry(now + 1))


def test_of_two_who_would_begin_it_again_one_does(journal):
    assert journal.begin("a", 5)
    known = journal.look("a")
    assert [journal.begin_again("a", 5, known) for _ in range(2)] == [True, False]


AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")


@pytest.fixture
def common(tmp_path_factory):
    """A folder that everyone may write to, with what leads there."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("user", ["nobody", "65534"])
def test_command_of_another_user_keeps_no_right_of_the_worker(journal, common, user):
    out = common / "out"
    words = "id -u; id -g; id -G; echo $HOME $USER $LOGNAME; pwd; cat /etc/shadow || echo no"
    command = Command(words, user=user, stdout=str(out))
    assert ran(journal, a_launch(command=command), until=Report.SUCCESS) is LaunchResult.OK
    entry = pwd.getpwnam("nobody")
    groups = " ".join(str(each) for each in os.getgrouplist("nobody", entry.pw_gid))
    assert out.read_text().splitlines() == [
        str(entry.pw_uid), str(entry.pw_gid), groups, f"{entry.pw_dir} nobody nobody", "/", "no",
    ]  # fmt: skip
    assert "0" not in groups.split()
    assert (out.stat().st_uid, out.stat().st_gid) == (entry.pw_uid, entry.pw_gid)


@pytest.mark.privileges
@AS_ROOT
def test_command_with_a_group_has_that_group_and_the_users_own(journal, common):
    out = common / "out"
    command = Command("id -u; id -gn; id -G", user="nobody", group="daemon", stdout=str(out))
    assert ran(journal, a_launch(command=command), until=Report.SUCCESS) is LaunchResult.OK
    uid, group, groups = out.read_text().splitlines()
    assert (uid, group) == (str(pwd.getpwnam("nobody").pw_uid), "daemon")
    assert "0" not in groups.split()


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("field", ["stdout", "stderr"])
def test_output_of_another_user_is_opened_with_his_rights(journal, common, tmp_path, field):
    """A link to a file of root's is no way to write it."""
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    link = common / "link"
    link.symlink_to(treasure)
    command = Command("echo his; echo his >&2", user="nobody", **{field: str(link)})
    assert ran(journal, a_launch(command=command), until=Report.FAILED) is LaunchResult.OK
    assert treasure.read_text() == "mine"


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("user", [None, "root"])
def test_output_is_not_opened_through_a_link_that_others_could_make(journal, common, tmp_path, user):
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    (common / "link").symlink_to(treasure)
    command = Command("echo his", user=user, stdout=str(common / "link"))
    assert ran(journal, a_launch(command=command)) is LaunchResult.REJECTED
    assert treasure.read_text() == "mine"


def test_output_through_a_link_of_ones_own_is_written(journal, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "log")
    command = Command("echo mine", stdout=str(tmp_path / "link"))
    assert ran(journal, a_launch(command=command), until=Report.SUCCESS) is LaunchResult.OK
    assert (tmp_path / "log").read_text() == "mine\n"


@pytest.mark.parametrize("who", [{"user": "nobody-at-all"}, {"group": "nobody-at-all"}, {"user": "4294000000"}])
def test_command_of_an_unknown_user_or_group_is_refused(journal, who):
    assert ran(journal, a_launch(command=Command("true", **who))) is LaunchResult.REJECTED


@pytest.mark.privileges
@AS_ROOT
def test_a_command_of_another_user_leaves_its_status_where_he_has_no_right(journal, common):
    out, ear = common / "out", Ear()
    launch = a_launch(command=Command("id -un; exit 3", user="nobody", stdout=str(out)))

    async def left_alone():
        first, second = CommandLauncher(journal, Ear()), CommandLauncher(journal, ear, beat=0.02)
        assert await first.start(launch) is LaunchResult.OK
        for task in first.tasks.values():
            task.cancel()  # the worker that waits for it is no more
        second.adopt()
        await ear.until(Report.FAILED)

    asyncio.run(left_alone())
    assert out.read_text() == "nobody\n"
    assert journal.folder.stat().st_mode & 0o777 == 0o700


def test_the_journal_forgets_what_was_long_ago(journal):
    year = 366 * 86_400
    assert journal.begin("a", 0) and not journal.begin("a", year)
    assert journal.begin("b", 2 * year)
    assert (journal.look("a"), journal.look("b")) == (None, Entry(2 * year))


def worker(url, journal):
    with Path(journal).with_name("log").open("ab") as log:
        return subprocess.Popen(
            [KRON_COMMAND, "worker", "--store", url, "--command-journal", journal], stdout=log, stderr=log
        )


def waited(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_commands_of_a_killed_worker_are_found_by_a_worker_that_is_running_already(journal):
    """Otherwise the run stays open until its lease ends, an hour later, and the following periods are skipped."""
    ear = Ear()

    async def left_alone():
        first, second = CommandLauncher(journal, Ear()), CommandLauncher(journal, ear, beat=0.02)
        second.adopt()
        assert await first.start(a_launch(command=Command("exit 3"))) is LaunchResult.OK
        for task in first.tasks.values():
            task.cancel()  # the worker that waits for it is no more
        await ear.until(Report.FAILED)

    asyncio.run(left_alone())


def test_command_whose_worker_is_alive_is_reported_by_that_worker_alone(journal):
    """The worker may be about to report it: each report takes a while here, and checks fall into that time."""
    own, other = Ear(), Ear()

    async def slowly(key, said, code=None, excerpt="", ended=None):
        await asyncio.sleep(0.4)
        await own(key, said, code, excerpt, ended)

    async def side_by_side():
        first, second = CommandLauncher(journal, slowly), CommandLauncher(journal, other, beat=1.0)
        second.adopt()
        for n in range(6):
            assert await first.start(a_launch(nominal=NOMINAL + n, command=Command("true"))) is LaunchResult.OK
            await asyncio.sleep(0.35)
        while own.heard.count(Report.SUCCESS) < 6:
            await asyncio.sleep(0.05)

    asyncio.run(side_by_side())
    assert other.heard == []


def test_journal_that_cannot_be_read_for_a_while_does_not_end_the_search(journal, monkeypatch):
    ear, failures = Ear(), [sqlite3.OperationalError("disk I/O error")] * 3
    unended = journal.unended

    def failing():
        if failures:
            raise failures.pop()
        return unended()

    async def left_alone():
        first, second = CommandLauncher(journal, Ear()), CommandLauncher(journal, ear, beat=0.02)
        second.adopt()
        monkeypatch.setattr(journal, "unended", failing)
        assert await first.start(a_launch(command=Command("exit 3"))) is LaunchResult.OK
        for task in first.tasks.values():
            task.cancel()
        await ear.until(Report.FAILED)

    asyncio.run(left_alone())
    assert failures == []


def test_lease_of_a_running_command_is_renewed_by_another_worker(journal):
    own, other, launch = Ear(), Ear(), a_launch(command=Command("sleep 60"))

    async def side_by_side():
        first, second = CommandLauncher(journal, own), CommandLauncher(journal, other, beat=0.01)
        second.adopt()
        assert await first.start(launch) is LaunchResult.OK
        await other.until(Report.STARTED)
        await first.cancel(launch.run)
        await own.until(Report.FAILED)

    asyncio.run(side_by_side())


@pytest.mark.req("KSPEC-IDEM-DAEMON", "KSPEC-IDEM-RECORDED")
@pytest.mark.parametrize("alive", [True, False], ids=["still running", "ended meanwhile"])
def test_a_worker_that_is_killed_leaves_its_commands_and_the_next_one_finds_them(tmp_path, alive):
    """kill -9 in the middle of a command: it goes on, is not begun again, and its end is recorded."""
    url, journal = f"sqlite:{tmp_path}/kron.db", str(tmp_path / "journal")
    out, go = tmp_path / "out", tmp_path / "go"
    line = f"echo begun >> {out}; while [ ! -e {go} ]; do sleep 0.05; done; echo ended >> {out}"
    (tmp_path / "jobs").write_text(
        json.dumps({"identity": "nightly", "schedule": "0 0 1 1 *", "command": line}) + "\n", "utf-8"
    )
    subprocess.run([KRON_COMMAND, "load", tmp_path / "jobs", "--store", url], check=True)

    async def asked(question):
        store = SqliteStore(tmp_path / "kron.db", SystemClock())
        try:
            return await question(Registrar(store))
        finally:
            await store.close()

    def run():
        (found,) = asyncio.run(asked(lambda registrar: registrar.runs("nightly")))
        return found

    asyncio.run(asked(lambda registrar: registrar.trigger("nightly", "now")))
    first = worker(url, journal)
    try:
        waited(lambda: run().state is State.ENQUEUED and out.exists())
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    if not alive:
        go.touch()
        waited(lambda: out.read_text() == "begun\nended\n")
    second = worker(url, journal)
    try:
        waited(lambda: run().state is (State.STARTED if alive else State.SUCCESS))
        go.touch()
        waited(lambda: run().state is State.SUCCESS)
        assert run().outcome is Outcome.EXECUTED
        assert run().attempt == 1
        assert out.read_text() == "begun\nended\n"
    finally:
        second.terminate()
        assert second.wait(30) == 0


def test_payload_is_a_variable_of_the_command(journal, tmp_path):
    launch = a_launch(command=Command(f'printf %s "$KRON_PAYLOAD" > {tmp_path}/payload'))
    launch = replace(launch, job=replace(launch.job, payload='{"user":"a b \'c\' $(id)"}'))
    assert ran(journal, launch, until=Report.SUCCESS) is LaunchResult.OK
    assert (tmp_path / "payload").read_text() == launch.job.payload


@pytest.mark.parametrize("payload", ['{"user":"a b \'c\' $(id) %s"}', None])
def test_payload_is_the_input_of_a_command_that_asks_for_it(journal, tmp_path, payload):
    launch = a_launch(command=Command(f"cat > {tmp_path}/payload; exit 3", stdin="payload"))
    launch = replace(launch, job=replace(launch.job, payload=payload))
    assert ran(journal, launch, until=Report.FAILED) is LaunchResult.OK
    assert (tmp_path / "payload").read_text() == (payload or "")


@AS_ROOT
def test_payload_is_the_input_of_a_command_of_another_user(journal, common):
    launch = a_launch(command=Command("id -un; cat", user="nobody", stdout=str(common / "out"), stdin="payload"))
    launch = replace(launch, job=replace(launch.job, payload='{"a":1}'))
    assert ran(journal, launch, until=Report.SUCCESS) is LaunchResult.OK
    assert (common / "out").read_text() == 'nobody\n{"a":1}'


def test_command_that_does_not_read_its_payload_succeeds(journal):
    launch = a_launch(command=Command("true", stdin="payload"))
    launch = replace(launch, job=replace(launch.job, payload='"' + "x" * 60_000 + '"'))
    assert ran(journal, launch, until=Report.SUCCESS) is LaunchResult.OK
