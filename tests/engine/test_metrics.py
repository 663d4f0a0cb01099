"""Metrics by the names of the specification, and what Prometheus reads."""

import re
from dataclasses import replace

import pytest

from kron.engine.events import Event, all_of, silent
from kron.engine.metrics import BUCKETS, Histogram, Metrics
from kron.rules.launch_result import LaunchResult
from kron.timing.schedule.policy import SECOND, SERVICE, Catchup
from tests.docs.page import ROOT, table
from tests.engine.world import FOLLOWED, World, play

SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)'
)


def samples(text):
    """Each sample of an exposition, read as strictly as the format is described."""
    assert text.endswith("\n")
    found, kinds, current = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in kinds  # all lines of one metric stand together
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            assert kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            family = re.sub("_(bucket|sum|count)$", "", name) if kinds[current] == "histogram" else name
            assert family == current
            assert (name, labels) not in found
            found[name, labels] = float(value)
    return found, kinds


def heard(world):
    world.worker.sink = world.worker.dispatcher.sink = metrics = Metrics()
    return metrics


async def overlapping():
    """Runs of 20 minutes, due every 15: at 12:15 and 12:45 one starts, at 12:30 none does."""
    world = World("2026-03-01T12:10:00Z", duration=20 * 60)
    metrics = heard(world)
    await world.define("*/15 * * * *", FOLLOWED)
    await world.run("2026-03-01T12:50:00Z")
    return metrics


@pytest.mark.req("SVC-MET-EMITTED", "SVC-MET-SKIPPED")
def test_what_was_emitted_and_what_overlapped_is_counted_under_both_names():
    found, kinds = samples(play(overlapping()).text())
    for prefix in ("", "kron_"):
        assert found[f"{prefix}runs_emitted", None] == 2
        assert found[f"{prefix}runs_skipped_overlap", None] == 1
        assert found[f"{prefix}runs_failed_launch", None] == 0
        assert kinds[f"{prefix}runs_emitted"] == "counter"
    assert found["kron_periods_not_executed_total", '{outcome="skipped",reason="overlap"}'] == 1
    assert found["kron_launch_results_total", '{result="ok"}'] == 2


@pytest.mark.req("SVC-MET-FAILED")
@pytest.mark.parametrize(
    "answers", [[LaunchResult.REJECTED], [LaunchResult.RETRYABLE] * 99], ids=["refused", "tried in vain"]
)
def test_a_launch_that_failed_is_counted_once(answers):
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1, answers=answers)
        metrics = heard(world)
        await world.define("*/15 * * * *", SERVICE)
        await world.run("2026-03-01T12:29:00Z")
        world.target.answers.clear()
        await world.run("2026-03-01T12:40:00Z")
        found, _ = samples(metrics.text())
        assert found["runs_failed_launch", None] == found["kron_runs_failed_launch", None] == 1
        assert found["runs_emitted", None] == 1
        assert found["kron_periods_not_executed_total", '{outcome="missed",reason="launch_failed"}'] == 1

    play(script())


@pytest.mark.req("SVC-MET-DUE")
def test_the_schedules_that_were_due_in_the_latest_pass():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        metrics = heard(world)
        for n in range(7):
            await world.define("*/15 * * * *" if n < 5 else "0 3 * * *", SERVICE, identity=f"s{n}")
        await world.tick()  # each is new
        assert samples(metrics.text())[0]["schedules_due", None] == 7
        world.sleep("2026-03-01T12:15:00Z")
        await world.tick()
        found, kinds = samples(metrics.text())
        assert found["schedules_due", None] == found["kron_schedules_due", None] == 5
        assert kinds["schedules_due"] == "gauge"
        world.sleep("2026-03-01T12:16:00Z")
        await world.tick()
        await world.tick()
        assert samples(metrics.text())[0]["schedules_due", None] == 0

    play(script())


def drift(found, name, bound):
    return found[f"{name}_bucket", f'{{le="{bound}"}}']


@pytest.mark.req("SVC-MET-DRIFT")
def test_drift_is_the_distance_of_the_start_from_the_planned_time():
    """Four seconds late: within five, not within two and a half."""

    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        metrics = heard(world)
        await world.define("*/15 * * * *", replace(SERVICE, catchup=Catchup.ALL))
        world.sleep("2026-03-01T12:15:04Z")
        await world.tick()
        found, kinds = samples(metrics.text())
        for name in ("scheduling_drift_seconds", "kron_scheduling_drift_seconds"):
            assert kinds[name] == "histogram"
            assert (drift(found, name, 2.5), drift(found, name, 5.0), drift(found, name, "+Inf")) == (0, 1, 1)
            assert (found[f"{name}_sum", None], found[f"{name}_count", None]) == (4, 1)

    play(script())


@pytest.mark.req("SVC-MET-DRIFT")
def test_drift_counts_jitter_and_lateness_does_not():
    async def script():
        world = World("2026-03-01T12:00:00Z", duration=1)
        metrics = heard(world)
        await world.define("*/15 * * * *", replace(SERVICE, jitter=200 * SECOND))
        await world.run("2026-03-01T16:00:00Z")
        early = [launch.run.due for launch in world.target.starts if launch.run.due < launch.run.nominal * 1000]
        assert early  # either way
        found, _ = samples(metrics.text())
        offsets = [abs(launch.run.due - launch.run.nominal * 1000) / 1000 for launch in world.target.starts]
        assert found["scheduling_drift_seconds_sum", None] == pytest.approx(sum(offsets), abs=0.1)
        assert found["scheduling_lateness_seconds_sum", None] == pytest.approx(0, abs=0.1)

    play(script())


def test_a_run_by_request_has_no_drift():
    async def script():
        world = World("2026-03-01T12:00:00Z", duration=1)
        metrics = heard(world)
        await world.define("0 3 * * *", SERVICE)
        await world.registrar.backfill("job", 1_772_000_000, 1_772_200_000, "again")
        await world.tick()
        found, _ = samples(metrics.text())
        assert found["runs_emitted", None] == 1
        assert found["scheduling_drift_seconds_count", None] == 0

    play(script())


def test_what_was_dropped_in_bulk_is_counted_period_by_period():
    async def script():
        world = World("2026-03-01T12:00:00Z", duration=1)
        metrics = heard(world)
        await world.define("* * * * *", SERVICE)
        world.sleep("2026-03-02T12:00:30Z")
        await world.tick()
        found, _ = samples(metrics.text())
        assert (
            found["kron_periods_not_executed_total", '{outcome="missed",reason="catchup_none"}'] == 1439
        )  # one is in time

    play(script())


def test_a_run_that_falls_silent_and_a_pause_that_ends_are_counted():
    async def script():
        world = World("2026-03-01T12:10:00Z")  # what it starts never says another word
        metrics = heard(world)
        await world.define("15 12 * * *", FOLLOWED)
        await world.run("2026-03-01T13:30:00Z")
        await world.registrar.pause("job", until=int(world.clock.now() + 60) * 1000)
        await world.run("2026-03-01T13:40:00Z")
        found, _ = samples(metrics.text())
        assert (found["kron_runs_lost_total", None], found["kron_pauses_expired_total", None]) == (1, 1)
        assert found["kron_worker_passes_total", None] > 3

    play(script())


def test_the_series_are_all_there_before_anything_has_happened():
    found, _ = samples(Metrics().text())
    assert found["runs_emitted", None] == 0
    assert found["scheduling_drift_seconds_bucket", '{le="+Inf"}'] == 0


def test_a_histogram_counts_up_to_and_with_each_bound():
    histogram = Histogram()
    for value in (0.0, 0.005, 0.0051, 3600.0, 3600.1):
        histogram.observe(value)
    found = dict(line.rsplit(" ", 1) for line in histogram.lines("x"))
    assert found['x_bucket{le="0.005"}'] == "2"
    assert found['x_bucket{le="0.01"}'] == "3"
    assert found['x_bucket{le="3600.0"}'] == "4"
    assert found['x_bucket{le="+Inf"}'] == found["x_count"] == "5"
    assert list(BUCKETS) == sorted(BUCKETS)


def test_the_page_tells_every_metric_and_its_kind():
    _, kinds = samples(Metrics().text())
    told = {row[0].strip("`"): row[1] for row in table(ROOT / "docs" / "reference" / "metrics.md", "metrics")}
    aliases = {f"kron_{name}": kind for name, kind in told.items() if not name.startswith("kron_")}
    assert told | aliases == kinds


def test_an_event_that_nobody_counts_is_let_pass():
    metrics, seen = Metrics(), []
    before = metrics.text()
    all_of(metrics, seen.append, silent)(Event("something_else", 0, {"outcome": "executed"}))
    assert metrics.text() == before
    assert len(seen) == 1
