"""Switching from a CronJob to its KronJob and back: each period runs once, whenever the command is killed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.apps.cli import main
from kron.apps.operator.switch.cronjob_side import SUSPENDED_AT
from kron.apps.operator.switch.kronjob_side import PHASE
from kron.apps.operator.switch.quiet import MARGIN_SECONDS, QUIET_SECONDS, Span, quiet_moment
from kron.apps.operator.switch.step import switch_back_step, switch_step
from kron.errors import KronError
from kron.kube.kind import KRONJOB
from kron.timing.zone import rfc3339
from tests.kube.server import Fault
from tests.kube.test_config import in_file, kubeconfig
from tests.operator.making import run_async
from tests.operator.switch_world import MINUTE, PLACE, START, Machine

SPANS = st.lists(st.tuples(st.integers(-100, 4000), st.integers(0, 900)).map(lambda p: Span(p[0], sum(p))), max_size=9)


@given(SPANS)
def test_quiet_moment_is_the_first_that_is_far_from_all_periods(spans):
    def is_quiet(moment):
        return all(s.last <= moment - QUIET_SECONDS or s.first > moment + MARGIN_SECONDS for s in spans)

    expected = next((moment for moment in range(3601) if is_quiet(moment)), None)
    assert quiet_moment(spans, 0) == expected


def switched(machine, *steps, delays=()):
    async def main():
        for step in steps:
            await machine.switch(step, delays)
            await machine.sleep(3 * MINUTE)

    run_async(main())
    return machine


def test_each_step_is_told_and_each_period_runs_once():
    machine = switched(Machine(second=10), switch_step, switch_back_step)
    assert machine.told[0] == "KronJob shop/report: created, suspended"
    lines = [line for line in machine.told if line.startswith(("CronJob", "KronJob"))]
    assert [line for line in lines if "yet" not in line] == [
        "KronJob shop/report: created, suspended",
        "CronJob shop/report: suspended",
        "KronJob shop/report: active",
        "KronJob shop/report: suspended",
        lines[-4],
        "CronJob shop/report: resumed",
        "KronJob shop/report: stays suspended, and can be deleted",
        "KronJob shop/report is suspended, and its CronJob is active",
    ]
    assert lines[-4].startswith("CronJob shop/report: last period set to 2026-03-01T10:")
    assert set(machine.counts(START, int(machine.now) - MINUTE).values()) == {1}
    assert len(machine.kronjob_ran) >= 3
    assert PHASE not in machine.objects["KronJob"]["metadata"]["annotations"]
    assert SUSPENDED_AT not in machine.objects["CronJob"]["metadata"]["annotations"]


KILLS = st.dictionaries(st.integers(0, 9), st.booleans(), max_size=4)
DELAYS = st.lists(st.integers(0, 200), max_size=4)


@settings(max_examples=25)
@given(
    second=st.integers(0, 59),
    lags=st.tuples(st.integers(0, 25), st.integers(0, 25)),
    latency=st.sampled_from([0.0, 0.1, 1.0]),
    kills=KILLS,
    delays=DELAYS,
    deadline=st.sampled_from([None, None, 600]),
)
def test_no_period_runs_twice_and_none_is_lost(second, lags, latency, kills, delays, deadline):
    """Of the periods that pass while no command runs between the two suspensions, the newest runs, as with CronJobs."""
    spec = {} if deadline is None else {"startingDeadlineSeconds": deadline}
    machine = Machine(second, lags, latency, **spec)
    machine.kills = kills
    switched(machine, switch_step, switch_back_step, switch_step, delays=delays)
    counts = machine.counts(START + MINUTE, int(machine.now) - 2 * MINUTE)
    assert max(counts.values()) == 1
    if sum(delays[: len(kills)]) < MINUTE - 10:
        assert min(counts.values()) == 1
    assert set(list(counts.values())[-2:]) == {1}, "periods are lost after the command has ended"


@pytest.mark.parametrize("number", range(9))
@pytest.mark.parametrize("is_before", [True, False])
def test_command_continues_after_a_kill_at_any_write(number, is_before):
    machine = Machine(second=10)
    machine.kills = {number: is_before}
    switched(machine, switch_step, switch_back_step)
    assert set(machine.counts(START, int(machine.now) - MINUTE).values()) == {1}
    assert machine.writes > number or number > 6


def test_period_that_passed_meanwhile_is_started_by_the_cronjob():
    machine = Machine(second=10)
    machine.kills = {1: False}  # the CronJob is suspended, and the KronJob not yet active
    switched(machine, switch_step, delays=[45])
    assert "CronJob shop/report: resumed, because a period has passed since it was suspended" in machine.told
    assert set(machine.counts(START, int(machine.now) - MINUTE).values()) == {1}


def refused(machine, step):
    with pytest.raises(KronError) as caught:
        run_async(machine.switch(step))
    assert caught.value.hint
    return f"{caught.value.code}: {caught.value.message}"


def test_operator_that_does_not_answer_is_told_before_anything_is_suspended():
    machine = Machine()
    machine._run_operator = lambda: None
    assert refused(machine, switch_step) == (
        "UNREACHABLE: KronJob shop/report: the operator has not accepted it yet, for 60 s"
    )
    assert not machine.objects["CronJob"]["spec"].get("suspend")


def test_both_active_is_refused():
    machine = switched(Machine(), switch_step)
    machine.objects["CronJob"]["spec"]["suspend"] = False
    assert "are both active" in refused(machine, switch_step)


def test_job_that_runs_is_waited_for_if_none_may_overlap():
    """Otherwise the first Job of the KronJob would run next to it."""
    machine = Machine(concurrencyPolicy="Forbid")
    machine.objects["CronJob"]["status"]["active"] = [{"name": "report-1"}]
    assert refused(machine, switch_step).startswith(
        "CANNOT_SWITCH: CronJob shop/report: its Job report-1 has not ended"
    )
    assert not machine.objects["CronJob"]["spec"].get("suspend")


def test_cronjob_that_its_user_has_suspended_stays_so_with_its_kronjob():
    machine = switched(Machine(suspend=True), switch_step)
    assert machine.kronjob_ran == machine.cronjob_ran == []
    assert machine.objects["KronJob"]["spec"]["policy"]["suspend"]
    switched(machine, switch_step)
    assert machine.told[-1] == "shop/report is switched already, and its KronJob is suspended"
    switched(machine, switch_back_step)
    assert machine.objects["CronJob"]["spec"]["suspend"]


def test_repeated_switch_changes_nothing():
    machine = switched(Machine(), switch_step)
    writes = machine.writes
    switched(machine, switch_step)
    assert machine.writes == writes
    assert machine.told[-1].startswith("shop/report is switched")


def test_switch_after_the_kronjob_was_deleted_and_both_rested_starts_nothing():
    """The mark of the earlier switch is old: the CronJob has been suspended on purpose since."""
    machine = switched(Machine(), switch_step)
    ran = list(machine.kronjob_ran)
    del machine.objects["KronJob"], machine.history["KronJob"]
    machine.generation_seen = 0
    switched(machine, switch_step)
    assert machine.kronjob_ran == ran
    assert machine.told[-1].startswith("shop/report is switched already")


def test_time_zone_that_is_assumed_must_fit_the_last_period():
    machine = Machine(schedule="0 3 * * *", timeZone=None)
    machine.objects["CronJob"]["status"]["lastScheduleTime"] = rfc3339(START - 8 * 3600)
    assert "which is no time of it in UTC" in refused(machine, switch_step)


def test_window_that_is_open_for_long_is_refused():
    machine = Machine(schedule="30 10 * * *")
    machine.objects["CronJob"]["status"]["lastScheduleTime"] = rfc3339(START + 1800 - 86_400)
    machine.now = float(START + 1700)
    wide = {"mode": "after", "duration": "2h"}
    template = machine.objects["CronJob"]["spec"]["jobTemplate"]
    spec = {"schedule": "30 10 * * *", "window": wide, "policy": {"suspend": True}, "jobTemplate": template}
    metadata = {"name": PLACE.name, "namespace": PLACE.namespace, "annotations": {PHASE: "waiting"}}
    machine._put(KRONJOB, {"metadata": metadata, "spec": spec, "status": {}})
    machine.now = float(START + 1790)
    assert "no moment within 60 min" in refused(machine, switch_step)


def test_unsuspended_kronjob_of_a_deleted_pair_is_not_found():
    machine = Machine()
    assert refused(machine, switch_back_step).startswith("NOT_FOUND: no KronJob shop/report")


@pytest.fixture
def cluster(server, tmp_path, monkeypatch):
    """A server with one CronJob, and a kubeconfig that names it."""
    in_file(tmp_path, monkeypatch, kubeconfig(server.url))
    server.put("cronjobs", "shop", "report", Machine()._cronjob({}))
    return server


def ran(capsys, *words):
    status = main(["import", "cronjobs", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--switch", "report"], "is not a namespace and a name"),
        (["--switch", "a/b/c"], "is not a namespace and a name"),
        (["--switch", "shop/report", "--switch-back", "shop/report"], "excludes --switch-back"),
        (["--switch", "shop/report", "-A"], "--switch excludes -A"),
        (["--switch-back", "shop/report", "-o", "json"], "--switch-back excludes -o"),
    ],
)
def test_wrong_words_ask_nothing(cluster, capsys, words, text):
    status, _, err = ran(capsys, *words)
    assert (status, text in err) == (2, True), err
    assert not cluster.requests


def test_unknown_cronjob_is_not_found(cluster, capsys):
    status, _, err = ran(capsys, "--switch", "shop/repotr")
    assert (status, "no CronJob shop/repotr" in err) == (1, True)
    assert not cluster.count("POST", "")


def test_missing_right_is_told_and_nothing_is_changed(cluster, capsys):
    cluster.fail("POST", "kronjobs", Fault(403, reason="Forbidden"))
    status, _, err = ran(capsys, "--switch", "shop/report")
    assert (status, "FORBIDDEN" in err) == (1, True)
    assert "suspend" not in cluster.of("cronjobs")["shop", "report"]["spec"]


def test_cluster_that_is_away_is_told_at_once(cluster, capsys):
    cluster.close()
    status, _, err = ran(capsys, "--switch", "shop/report")
    assert (status, "UNREACHABLE" in err) == (1, True)


def test_context_that_is_unknown_names_those_that_are(cluster, capsys):
    status, _, err = ran(capsys, "--switch", "shop/report", "--context", "y")
    assert (status, "no context 'y'" in err, "x" in err) == (1, True, True)
    assert not cluster.requests
    status, _, err = ran(capsys, "--switch-back", "shop/report", "--context", "x")
    assert (status, "no KronJob shop/report" in err) == (1, True)
