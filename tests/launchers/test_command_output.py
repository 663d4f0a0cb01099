"""What commands print: kept in a file each, cut where it is too much, and told when a run has failed."""

import asyncio
import json
import os
import pwd
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.launchers.command import output, output_limit
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.output import HEAD_BYTES, MAX_BYTES, Outputs, shorten, tail
from kron.rules.excerpt import excerpt_of, excerpt_of_end
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.job import Command
from kron.timing.schedule.policy import SECOND
from tests.launchers.making import NOMINAL, Ear, a_launch, result_of

KRON_COMMAND = Path(sys.executable).with_name("kron")
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
TIMED_OUT = "the command exceeded its timeout and was killed"


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


def files_of(journal):
    return sorted((journal.folder / "output").glob("*/*/*.out"))


def end_of(journal, command, *, answer=LaunchResult.OK):
    """The last report on a command."""
    ear = Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        assert result_of(await launcher.start(a_launch(command=command))) is answer
        async with asyncio.timeout(30):
            while launcher.tasks:
                await asyncio.sleep(0.01)

    asyncio.run(script())
    return ear.ends[-1] if ear.ends else None


def test_failed_run_says_what_its_command_printed_last(journal):
    command = Command("echo first; echo 'disk /dev/sda1 is full' >&2; exit 3")
    assert end_of(journal, command) == (Report.FAILED, 3, "first disk /dev/sda1 is full")
    (file,) = files_of(journal)
    assert file.read_text() == "first\ndisk /dev/sda1 is full\n"


def test_excerpt_is_the_end_of_the_output_without_secrets(journal):
    line = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; echo password=abc last words; exit 1"
    _, _, excerpt = end_of(journal, Command(line))
    assert excerpt.startswith("…") and excerpt.endswith(" line 299 password=… last words")
    assert len(excerpt) == 200


def test_excerpt_has_the_cause_first(journal):
    _, code, excerpt = end_of(journal, Command("echo copying; exec sleep 60", timeout=SECOND // 2))
    assert (code, excerpt) == (143, f"{TIMED_OUT}: copying")


def test_output_of_a_successful_run_is_kept_and_not_told(journal):
    assert end_of(journal, Command("echo fine")) == (Report.SUCCESS, 0, "")
    (file,) = files_of(journal)
    assert file.read_text() == "fine\n"


def test_run_that_prints_nothing_leaves_no_file(journal):
    assert end_of(journal, Command("true")) == (Report.SUCCESS, 0, "")
    assert files_of(journal) == []


def test_command_that_cannot_start_leaves_no_file(journal):
    assert end_of(journal, Command("true", cwd="/nowhere"), answer=LaunchResult.REJECTED) is None
    assert files_of(journal) == []


def test_outputs_with_a_path_go_there_and_others_are_captured(journal, tmp_path):
    command = Command("echo out; echo err >&2; exit 1", stdout=str(tmp_path / "out"))
    assert end_of(journal, command) == (Report.FAILED, 1, "err")
    assert (tmp_path / "out").read_text() == "out\n"
    both = Command("echo out; echo err >&2; exit 1", stdout=str(tmp_path / "a"), stderr=str(tmp_path / "b"))
    other = Journal(tmp_path / "other")
    assert end_of(other, both) == (Report.FAILED, 1, "")
    assert files_of(other) == []


def test_captured_output_is_private(journal):
    end_of(journal, Command("echo secret"))
    (file,) = files_of(journal)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_file_that_another_put_in_the_place_of_the_output_is_not_written(journal, tmp_path):
    treasure, launch = tmp_path / "treasure", a_launch()
    treasure.write_text("mine")
    outputs = Outputs(journal.folder / "output")
    first = outputs.create(launch.run)
    os.close(first.file)
    path = outputs.folder / first.name
    path.unlink()
    path.symlink_to(treasure)
    end_of(journal, Command("echo his"))
    assert treasure.read_text() == "mine"
    assert path.read_text() == "his\n" and not path.is_symlink()


@AS_ROOT
def test_command_of_another_user_can_open_its_output_again(journal):
    """Programs open /dev/stdout, which needs the rights on the file and not only the open file."""
    command = Command("echo one >> /dev/stdout; echo two >> /dev/stderr; exit 1", user="nobody")
    assert end_of(journal, command) == (Report.FAILED, 1, "one two")
    (file,) = files_of(journal)
    assert file.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@AS_ROOT
@pytest.mark.parametrize("field", ["cwd", "stdout"])
def test_what_another_user_may_not_open_is_told(journal, tmp_path, field):
    """The keeper has the rights of that user, and says what it could not do."""
    tmp_path.chmod(0o700)
    _, code, excerpt = end_of(journal, Command("true", user="nobody", **{field: str(tmp_path / "x")}))
    assert code == 126
    assert str(tmp_path / "x") in excerpt


WORKER = """
import asyncio, sys
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch

async def main(folder, line):
    await CommandLauncher(Journal(folder), Ear()).start(a_launch(command=Command(line)))
    print("started", flush=True)
    await asyncio.sleep(60)

asyncio.run(main(*sys.argv[1:]))
"""


def test_command_goes_on_printing_after_its_worker_was_killed(journal, tmp_path):
    """A pipe to the worker would end the command with SIGPIPE."""
    go, ear = tmp_path / "go", Ear()
    line = f"echo before; while [ ! -e {go} ]; do sleep 0.05; done; echo after; exit 3"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, journal.folder, line], stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "started\n"
    worker.kill()
    worker.communicate()
    go.touch()

    async def adopted():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        launcher.adopt()
        await ear.until(Report.FAILED)

    asyncio.run(adopted())
    assert ear.ends[-1] == (Report.FAILED, 3, "before after")


def test_output_of_a_running_command_is_shortened(journal, tmp_path):
    """One that prints without end must not fill the disk; what it printed first and last is kept."""
    go, ear = tmp_path / "go", Ear()
    line = f"echo first; head -c 3000000 /dev/zero; while [ ! -e {go} ]; do sleep 0.05; done; echo last; exit 1"

    async def script():
        launcher = CommandLauncher(journal, ear)
        launcher.outputs.beat = 0.05
        await launcher.start(a_launch(command=Command(line)))
        async with asyncio.timeout(30):
            while not (files := files_of(journal)) or b"omitted" not in files[0].read_bytes():
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)  # it may have been printing
            assert files[0].stat().st_size <= MAX_BYTES
            go.touch()
            while launcher.tasks:
                await asyncio.sleep(0.01)

    asyncio.run(script())
    (file,) = files_of(journal)
    content = file.read_bytes()
    assert content.startswith(b"first\n") and content.endswith(b"last\n")
    assert ear.ends[-1][2].endswith("last")


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_omitted_bytes_are_counted(tmp_path, rounds):
    path, written = tmp_path / "out", 0
    with path.open("ab", buffering=0) as file:
        for n in range(rounds):
            text = bytes([97 + n]) * (MAX_BYTES + 1)
            written += file.write(text)
            shorten(path)
    content = path.read_bytes()
    assert content[:HEAD_BYTES] == b"a" * HEAD_BYTES
    note, latest = content[HEAD_BYTES : HEAD_BYTES + 39], content[HEAD_BYTES + 39 :]
    assert latest == bytes([96 + rounds]) * output.TAIL_BYTES
    assert int(note.split()[1]) == written - HEAD_BYTES - len(latest)
    shorten(path)
    assert path.read_bytes() == content  # it is short enough


def test_old_outputs_are_removed(tmp_path):
    outputs, now = Outputs(tmp_path / "output"), time.time()
    names = []
    for n in range(60):
        created = outputs.create(a_launch(nominal=NOMINAL + n).run)
        os.write(created.file, b"x")
        os.close(created.file)
        path = outputs.folder / created.name
        os.utime(path, (now - 60 + n, now - 60 + n))
        names.append(path)
    outputs.clean(str(names[-1].relative_to(outputs.folder)), now)
    assert [path.exists() for path in names] == [False] * 10 + [True] * 50
    outputs.clean(str(names[-1].relative_to(outputs.folder)), now + 31 * 86_400)
    assert not names[-1].parent.exists()


def test_old_outputs_of_jobs_that_no_longer_run_are_removed(tmp_path):
    outputs, now = Outputs(tmp_path / "output"), time.time()
    run = a_launch().run
    for n in range(5):
        os.close(outputs.create(run._replace(identity=f"job {n}")).file)
    for path in outputs.folder.glob("*/*/*"):
        os.utime(path, (now - 31 * 86_400,) * 2)
    name = outputs.create(run)
    os.write(name.file, b"x")
    os.close(name.file)
    for _ in range(10):
        outputs.clean(name.name, now)
    assert [str(path.relative_to(outputs.folder)) for path in outputs.folder.glob("*/*/*")] == [name.name]


def filled(outputs, identity, nominal, size, changed):
    created = outputs.create(a_launch(nominal=nominal).run._replace(identity=identity, key=f"{nominal:064d}"))
    os.close(created.file)
    path = outputs.folder / created.name
    os.truncate(path, size)
    os.utime(path, (changed, changed))
    outputs.clean(created.name, changed)
    return path


def test_jobs_of_one_table_keep_so_many_bytes_and_no_other_table_loses_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(output_limit, "MAX_TABLE_BYTES", 1_000)
    monkeypatch.setattr(output_limit, "KEPT_BYTES", 800)
    outputs, now = Outputs(tmp_path / "output"), time.time() - 1_000
    other = filled(outputs, "/var/spool/krontab/ben:a", 0, 900, now)
    paths = [filled(outputs, f"/var/spool/krontab/ana:{n % 7}", n, 100, now + n) for n in range(25)]
    kept = sum(path.exists() for path in paths)
    assert [path.exists() for path in paths] == [False] * (25 - kept) + [True] * kept
    assert 8 <= kept <= 10
    assert other.exists()


def test_output_of_a_running_command_stays_when_its_table_has_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(output_limit, "MAX_TABLE_BYTES", 1_000)
    monkeypatch.setattr(output_limit, "KEPT_BYTES", 800)
    outputs, now = Outputs(tmp_path / "output"), time.time() - 1_000
    running = filled(outputs, "/t:a", 0, 600, now)
    outputs.watched["key"] = running
    first, second = (filled(outputs, "/t:b", n, 300, now + n) for n in (1, 2))
    assert [path.exists() for path in (running, first, second)] == [True, False, False]


def test_worker_that_starts_again_counts_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(output_limit, "MAX_TABLE_BYTES", 1_000)
    monkeypatch.setattr(output_limit, "KEPT_BYTES", 800)
    now = time.time() - 1_000
    paths = [filled(Outputs(tmp_path / "output"), "/t:a", n, 300, now + n) for n in range(4)]
    assert [path.exists() for path in paths] == [False, False, True, True]


def test_process_that_a_command_has_left_cannot_fill_the_disk(tmp_path):
    outputs, now = Outputs(tmp_path / "output"), time.time()
    path = filled(outputs, "/t:a", 0, 10, now)
    os.truncate(path, output.MAX_BYTES + 1)
    for n in range(3):
        filled(outputs, "/t:b", n, 10, now)
    assert path.stat().st_size < output.HEAD_BYTES + 2 * output.TAIL_BYTES


def test_output_that_is_a_pipe_without_a_reader_does_not_stop_the_worker(journal, tmp_path):
    """The worker opens the outputs of its own user in one thread for all commands."""
    os.mkfifo(tmp_path / "pipe")
    assert end_of(journal, Command("true", stdout=str(tmp_path / "pipe")), answer=LaunchResult.REJECTED) is None


def test_tail_begins_with_a_line(tmp_path):
    path = tmp_path / "out"
    path.write_text("x" * 5_000 + "\nlast line\n")
    assert tail(path) == "last line\n"
    path.write_text("y" * 5_000)
    assert tail(path) == "y" * output.TAIL_BYTES
    assert tail(tmp_path / "none") == ""


@given(st.text(max_size=60), st.text(max_size=400))
def test_excerpt_of_an_end_is_the_end_of_the_whole_line(cause, text):
    cause = excerpt_of(cause)
    excerpt, line = excerpt_of_end(cause, text), " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert len(excerpt) <= 200
    assert excerpt.startswith(cause)
    if "://" not in text and not any(sign in text for sign in "=:"):
        assert excerpt.endswith(line[-100:]) or not line


def test_paths_of_outputs_do_not_have_the_names_of_jobs(tmp_path):
    outputs = Outputs(tmp_path / "output")
    created = outputs.create(a_launch().run._replace(identity="../../etc/cron.d/x"))
    os.close(created.file)
    assert outputs.folder in (outputs.folder / created.name).resolve().parents


def test_kron_why_says_what_the_command_printed_last(tmp_path):
    """Through a real worker, its store and its report."""
    store, jobs = f"sqlite:{tmp_path}/kron.db", tmp_path / "jobs"
    line = "echo copying; echo 'disk is full' >&2; exit 28"
    jobs.write_text(json.dumps({"identity": "backup", "schedule": "0 0 1 1 *", "command": line}) + "\n", "utf-8")
    subprocess.run([KRON_COMMAND, "load", jobs, "--store", store], check=True, capture_output=True)
    subprocess.run([KRON_COMMAND, "trigger", "backup", "--store", store], check=True, capture_output=True)
    runs = [KRON_COMMAND, "runs", "backup", "--store", store, "-o", "json"]
    arguments = [KRON_COMMAND, "worker", "--store", store, "--command-journal", tmp_path / "journal"]
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while b'"failed"' not in (found := subprocess.run(runs, check=True, capture_output=True).stdout):
            assert time.monotonic() < end, found
    finally:
        worker.terminate()
        assert worker.wait(30) == 0
    why = [KRON_COMMAND, "why", "backup", "--run", json.loads(found)[0]["key"], "--store", store]
    text = subprocess.run(why, check=False, capture_output=True, text=True).stdout
    assert "exit status 28" in text
    assert '"copying disk is full"' in text
