"""@reboot: one run per boot. Another boot is a boot id that a mount namespace shows instead of the kernel's."""

import asyncio
import json
import os
import signal
import subprocess
import uuid

import pytest

from kron.apps.daemon.boot_runs import request_boot_runs
from kron.apps.daemon.main import main as krond_main
from kron.apps.krontab.main import main as krontab_main
from kron.engine.clock import SystemClock
from kron.engine.registrar import Registrar
from kron.language.krontab import read_table
from kron.launchers.command.journal import Journal
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from tests.daemon.krond import Krond, until


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
    """The process is gone without a status: the run of the earlier boot is lost."""
    krond.write("table", krond.job("job", f"echo x >> {tmp_path}/out; sleep 1000", "@reboot"))
    krond.start()
    until(lambda: krond.events("launch_completed"))
    krond.kill()
    (key,) = Journal(krond.state.parent / "journal").unended()
    os.killpg(Journal(krond.state.parent / "journal").look(key).pid, signal.SIGKILL)
    start_with(krond, str(uuid.uuid4()))
    until(lambda: (tmp_path / "out").read_text() == "x\nx\n")
    until(lambda: any(run.key == key and not run.open for run in krond.runs("job")))
    runs = {run.key: run for run in krond.runs("job")}
    assert (len(runs), runs[key].attempt, runs[key].state) == (2, 1, State.LOST)
    assert {run.reason for run in runs.values() if run.key != key} == {None}


@pytest.mark.slow
def test_what_runs_at_the_next_boot_is_shown(krond, capsys):
    krond.write("table", "@reboot name=job command=true", "0 3 * * * name=nightly command=true")
    place = ["--user", "--config", str(krond.tables), "--state", str(krond.state)]
    assert krond_main([*place, "--dry-run"]) == 0
    assert "at the next boot" in capsys.readouterr().out
    assert krond.run("--once", "--wait", "20s").returncode == 0
    assert krontab_main(["status", *place]) == 1  # no daemon runs
    assert "at the next boot" in capsys.readouterr().out
    krontab_main(["status", "-o", "json", *place])
    assert {"job": "table:job", "at": "at the next boot"} in json.loads(capsys.readouterr().out)["next"]
    assert krontab_main(["next", *place]) == 0
    assert "table:job: at the next boot" in capsys.readouterr().err
    assert krontab_main(["next", "job", *place]) == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("@reboot @tz(Asia/Tokyo)", 1),
        ("@reboot @tz(UTC)", 1),
        ("@reboot @win(after,5m)", 1),
        ("@reboot 5", 1),
        ("@reboot @polcy(x)", 9),
    ],
)
def test_only_a_policy_can_follow(text, place):
    table = read_table(f"{text} name=a command=x\n", "/t")
    (error,) = table.errors
    assert error.place.label == f"/t:1:{place}"
