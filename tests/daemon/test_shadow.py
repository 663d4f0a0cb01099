"""A daemon in shadow mode: it records when each run would have started, starts nothing, and shares no store."""

import asyncio
import json
from getpass import getuser

import pytest

from kron.apps.daemon.notifications.notifier import FILE_NAME as NOTIFIED_NAME
from kron.apps.host.place import Place, default_paths
from kron.apps.wiring import launchers, open_store
from kron.launchers.shadow import SHADOW_SCHEME
from kron.rules.launch_result import LaunchResult, answered, next_check_after
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.schedule.policy import KRON
from kron.timing.zone import rfc3339, rfc3339_ms
from tests.daemon.krond import NEVER, Krond, kron, krontab, soon, until
from tests.stores.making import a_run


@pytest.fixture
def shadow(make_krond):
    return make_krond("--shadow")


def shadow_runs(daemon: Krond) -> list:
    return [run for run in daemon.runs("a") if not run.open]


@pytest.mark.slow
def test_shadow_daemon_records_every_period_and_starts_nothing(shadow, tmp_path):
    shadow.write("table", shadow.job("a", f"touch {tmp_path}/started"))
    shadow.start()
    until(lambda: len(shadow_runs(shadow)) >= 2)
    shadow.kill()  # between a claim and its record, too: nothing of it was started
    shadow.start()
    seen = len(shadow_runs(shadow))
    until(lambda: len(shadow_runs(shadow)) >= seen + 2)
    assert krontab(shadow, "run", "a", "--shadow").returncode == 0
    until(lambda: any(run.trigger for run in shadow_runs(shadow)))
    status = krontab(shadow, "status", "--shadow")
    assert "shadow mode: it records runs and starts nothing" in status.stdout and status.returncode == 0
    assert shadow.stop() == 0
    assert not (tmp_path / "started").exists()
    assert not (shadow.state.parent / NOTIFIED_NAME).exists()  # it tells about nothing
    runs = shadow_runs(shadow)
    for run in runs:
        assert (run.state, run.outcome, run.reason) == (State.SKIPPED, Outcome.SKIPPED, Reason.SHADOW)
        assert run.due <= run.sent <= run.changed and run.started is None
    audited = kron("audit", "--store", f"sqlite:{shadow.state}", "-o", "json")
    assert audited.returncode == 0, audited.stdout
    key = runs[-1].key
    why = krontab(shadow, "why", "a", "--run", key, "--shadow").stdout
    assert "skipped: krond runs in shadow mode: it records when the run would have started, and starts nothing." in why
    assert "would have started 20" in why
    assert {event["level"] for event in shadow.events("launch_completed")} == {"info"}


@pytest.mark.slow
def test_no_other_daemon_uses_a_shadow_store(shadow, make_krond, tmp_path):
    shadow.write("table", shadow.job("a", f"touch {tmp_path}/started", NEVER))
    assert shadow.run("--once").returncode == 0
    real = make_krond()
    for _ in range(2):  # with the job, and with its records alone
        refused = real.run("--once")
        assert refused.returncode == 1 and "error[SHADOW_STATE]" in refused.stderr
        assert "has the records of krond --shadow, which starts nothing" in refused.stderr
        shadow.write("table")
        assert shadow.run("--once").returncode == 0
    shadow.write("table", shadow.job("a", f"touch {tmp_path}/started", NEVER))
    assert shadow.run("--once").returncode == 0
    assert "error[SHADOW_STATE]" in krontab(shadow, "status").stderr
    assert not (tmp_path / "started").exists()


def test_no_worker_can_launch_the_jobs_of_a_shadow_store(tmp_path):
    async def schemes():
        async with open_store("memory:") as store:
            return set(launchers(store, commands=str(tmp_path / "journal")))

    assert "command" in (found := asyncio.run(schemes())) and SHADOW_SCHEME not in found


@pytest.mark.slow
def test_shadow_daemon_uses_no_store_of_another_daemon(krond, make_krond):
    krond.write("table", krond.job("a", "true", NEVER))
    assert krond.run("--once").returncode == 0
    refused = make_krond("--shadow").run("--once")
    assert refused.returncode == 1 and "error[SHADOW_STATE]" in refused.stderr
    assert "has the records of a krond that starts commands, not of krond --shadow" in refused.stderr
    report = krontab(krond, "shadow-report", "--log", "/dev/null")
    assert report.returncode == 1 and "error[SHADOW_STATE]" in report.stderr


def test_state_of_a_shadow_daemon_has_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for user in (True, False):
        config, state = default_paths(user=user)
        shadow_config, shadow_state = default_paths(user=user, shadow=True)
        assert config == shadow_config and shadow_state == state.parent / "shadow" / "state.db"
    assert Place(tmp_path, tmp_path / "s", shadow=True).folder.target == "shadow:"


@pytest.mark.slow
def test_report_pairs_a_period_with_the_line_of_cron(shadow, tmp_path):
    shadow.write("table", shadow.job("a", "backup --level 3", soon()), shadow.job("b", "cleanup", soon()))
    shadow.start()
    until(lambda: len(shadow_runs(shadow)) and [run for run in shadow.runs("b") if not run.open])
    assert shadow.stop() == 0
    (run,), user, log = shadow_runs(shadow), getuser(), tmp_path / "syslog"
    stamps = [rfc3339_ms(run.nominal * 1000 + late) for late in (-3_600_000, 1_250, 90_000)]
    log.write_text(
        f"{stamps[0]} host systemd[1]: Started something.\n"
        f"{stamps[1]} host CRON[812]: ({user}) CMD (backup --level 3)\n"
        f"{stamps[2]} host CRON[813]: (nobody) CMD (unknown)\n"
    )
    at = rfc3339(run.nominal + 300)
    report = krontab(shadow, "shadow-report", "--log", str(log), "--at", at, "-o", "json")
    assert report.returncode == 1, report.stderr
    answer = json.loads(report.stdout)
    assert (answer["both"], answer["only_cron"], answer["only_kron"], answer["neither"]) == (1, 1, 1, 0)
    (pair,) = answer["pairs"]
    assert (pair["job"], pair["cron_late_ms"]) == ("table:a", 1250) and 0 <= pair["kron_late_ms"] < 30_000
    by_side = {each["only"]: each for each in answer["differences"]}
    assert by_side["cron"]["why"] == "No job of the tables has this user and command."
    assert by_side["kron"]["job"] == "table:b"
    text = krontab(shadow, "shadow-report", "--log", str(log), "--at", at, "-n", "1")
    assert "both: 1, only cron: 1, only Kron: 1, neither: 0" in text.stdout and "1 more difference" in text.stderr


def test_shadow_run_is_skipped_at_once_and_is_not_repeated():
    run = a_run(State.LAUNCHING, 1)
    after = answered(run, LaunchResult.SHADOW, KRON, 5_000)
    assert (after.state, after.outcome, after.reason) == (State.SKIPPED, Outcome.SKIPPED, Reason.SHADOW)
    assert not after.open and next_check_after(after, KRON, 5_000) == 5_000
