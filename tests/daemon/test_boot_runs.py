"""@reboot: one run per boot. Another boot is a boot id that a mount namespace shows instead of the kernel's."""

import asyncio
import json
import os
import signal
import subprocess
import uuid

import pytest

from kron.apps.daemon.boot_runs import request_boot_runs
from kron.engine.clock import SystemClock
from kron.engine.registrar import Registrar
from kron.language.krontab import read_table
from kron.launchers.command.journal import Journal
from kron.rules.run import State
from kron.stores.memory import MemoryStore
from tests.daemon.krond import Krond, kron, krontab, until


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="needs root and mount namespaces")


def start_with(krond, boot):
    """Start a daemon that sees another boot id."""
    file, command = krond.folder / "boot_id", Krond.command(krond)
    file.write_text(f"{boot}\n")
    script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
    krond.command = lambda *more: ["unshare", "--mount", "sh", "-c", script, str(file), *command]
    krond.start()


def test_runs_are_requested_once_per_boot(tmp_path):
    async def scene():
        store = MemoryStore(SystemClock())
        registrar = Registrar(store)
        table = read_table("@reboot name=a command=x\n0 0 * * * name=b command=x\n@reboot name=p command=x\n", "/t")
        for job in table.jobs:
            await registrar.upsert(job)
        await registrar.pause("/t:p")
        assert await request_boot_runs(registrar, tmp_path, "one") == 1
        assert await request_boot_runs(registrar, tmp_path, "one") == 0
        (run,) = await store.runs("/t:a", 10)
        assert (run.trigger, run.state) == ("boot:one", State.PENDING)
        (tmp_path / "boot").unlink()  # killed before it was written
        assert await request_boot_runs(registrar, tmp_path, "one") == 1
        assert len(await store.runs("/t:a", 10)) == 1
        assert await request_boot_runs(registrar, tmp_path, "two") == 1
        assert [len(await store.runs(name, 10)) for name in ("/t:a", "/t:b", "/t:p")] == [2, 0, 0]

    asyncio.run(scene())


def test_job_that_is_added_later_waits_for_the_next_boot(tmp_path):
    async def scene():
        store = MemoryStore(SystemClock())
        assert await request_boot_runs(Registrar(store), tmp_path, "one") == 0
        (job,) = read_table("@reboot name=a command=x\n", "/t").jobs
        await Registrar(store).upsert(job)
        assert await request_boot_runs(Registrar(store), tmp_path, "one") == 0
        assert await store.runs("/t:a", 10) == []

    asyncio.run(scene())


@pytest.mark.slow
@needs_mount
def test_daemon_runs_a_job_once_for_each_boot_id(krond, tmp_path):
    krond.write("table", krond.job("job", f"cat /proc/sys/kernel/random/boot_id >> {tmp_path}/out", "@reboot"))
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    for number, boot in enumerate((first, first, first, second), 1):
        start_with(krond, boot)
        until(lambda: {event["state"] for event in krond.events("run_finished")} == {"success"})
        if boot == second:
            until(lambda: len(krond.events("run_finished")) == 2)
        (krond.kill if number == 2 else krond.stop)()
    assert (tmp_path / "out").read_text().split() == [first, second]
    assert [event["boot_runs"] for event in krond.events("krond_started")] == [1, 0, 0, 1]
    assert [run.trigger for run in krond.runs("job")] == [f"boot:{second}", f"boot:{first}"]


@pytest.mark.slow
@needs_mount
def test_power_failure_during_the_run_does_not_stop_the_run_of_the_next_boot(krond, tmp_path):
    """The process is gone without a status, so that the record still has the run of the earlier boot as active."""
    krond.write("table", krond.job("job", f"echo x >> {tmp_path}/out; sleep 1000", "@reboot"))
    krond.start()
    until(lambda: krond.events("launch_completed"))
    krond.kill()
    (key,) = Journal(krond.state.parent / "journal").unended()
    os.killpg(Journal(krond.state.parent / "journal").look(key).pid, signal.SIGKILL)
    start_with(krond, str(uuid.uuid4()))
    until(lambda: (tmp_path / "out").read_text() == "x\nx\n")
    newest, oldest = krond.runs("job")
    assert (newest.reason, oldest.key, oldest.attempt) == (None, key, 1)


def test_what_runs_at_the_next_boot_is_shown(krond):
    path = krond.write("table", "@reboot name=job command=true", "0 3 * * * name=nightly command=true")
    dry_run = krond.run("--dry-run")
    assert "at the next boot" in dry_run.stdout
    assert krond.run("--once", "--wait", "20s").returncode == 0
    assert "at the next boot" in krontab(krond, "status").stdout
    status = json.loads(krontab(krond, "status", "-o", "json").stdout)
    assert {"job": "table:job", "at": "at the next boot"} in status["next"]
    assert "table:job: at the next boot" in krontab(krond, "next").stderr
    assert krontab(krond, "next", "job").returncode == 0
    shown = kron("next", "-f", str(path), "-n", "1")
    assert (shown.returncode, "job: at the next boot, by krond" in shown.stderr) == (0, True)


@pytest.mark.parametrize("words", [["next"], ["explain"]])
def test_commands_about_times_refuse_a_job_without_times(krond, words):
    path = krond.write("table", "@reboot name=job command=true")
    refused = kron(*words, "-f", str(path), "job")
    assert refused.returncode == 1
    assert "error[MACRO]: job 'job' runs at the next boot, and has no times" in refused.stderr


def test_other_commands_accept_the_line(krond):
    path = krond.write("table", "@reboot @policy(deadline=1h)  name=job command=true")
    assert kron("lint", "-f", str(path)).returncode == 0
    assert kron("fmt", "-f", str(path)).stdout == "@reboot @policy(deadline=1h) name=job command=true\n"


def test_schedule_of_a_store_cannot_be_a_boot():
    refused = kron("next", "@reboot")
    assert refused.returncode == 1
    assert "only krond runs @reboot, in a line of a krontab file" in refused.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [("@reboot @tz(Asia/Tokyo)", 1), ("@reboot @win(after,5m)", 1), ("@reboot 5", 1), ("@reboot @polcy(x)", 9)],
)
def test_only_a_policy_can_follow(text, place):
    table = read_table(f"{text} name=a command=x\n", "/t")
    (error,) = table.errors
    assert error.place.label == f"/t:1:{place}"
