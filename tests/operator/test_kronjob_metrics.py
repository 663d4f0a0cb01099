"""Metrics of each KronJob: what they count, whom they name, and that they end with their KronJob."""

from kron.apps.operator.kronjob_metrics import KronJobMetrics
from kron.engine.events import Event
from tests.operator.making import Ledger, a_kronjob


def finished(name, state, outcome, reason=None, **facts):
    shared = {"identity": f"shop/{name}", "state": state, "outcome": outcome, "reason": reason}
    return Event(facts.pop("event", "run_finished"), 0, {**shared, **facts})


def samples(metrics):
    return [line for line in metrics.text().splitlines() if not line.startswith("#")]


def test_outcomes_and_ends_are_counted_by_kronjob():
    kronjobs = [a_kronjob("report", status={"lastSuccessfulTime": "2026-03-01T10:01:30Z"}), a_kronjob("export")]
    metrics = KronJobMetrics(Ledger().identities, lambda: kronjobs)
    events = [
        finished("report", "enqueued", "executed", event="launch_completed", result="ok"),
        finished("report", "success", "executed"),
        finished("report", "skipped", "skipped", "overlap"),
        finished("export", "failed", "executed", "failed"),
        Event("gap_recorded", 0, {"identity": "shop/export", "count": 5, "outcome": "missed", "reason": "deadline"}),
        Event("run_recorded", 0, {"identity": "shop/export", "state": "launching", "outcome": "executed"}),
        finished("other cluster/shop/x", "success", "executed"),
    ]
    for event in events:
        metrics.receive(event)
    export, report = ('namespace="shop",name="export"', 'namespace="shop",name="report"')
    assert samples(metrics) == [
        f"kron_operator_kronjob_jobs_created_total{{{report}}} 1",
        f'kron_operator_kronjob_periods_not_executed_total{{{export},outcome="missed",reason="deadline"}} 5',
        f'kron_operator_kronjob_periods_not_executed_total{{{report},outcome="skipped",reason="overlap"}} 1',
        f'kron_operator_kronjob_runs_finished_total{{{export},state="failed"}} 1',
        f'kron_operator_kronjob_runs_finished_total{{{report},state="skipped"}} 1',
        f'kron_operator_kronjob_runs_finished_total{{{report},state="success"}} 1',
        f"kron_operator_kronjob_last_success_timestamp_seconds{{{report}}} 1772359290",
    ]


def test_metrics_end_with_their_kronjob():
    kronjobs = [a_kronjob("report")]
    metrics = KronJobMetrics(Ledger().identities, lambda: kronjobs)
    metrics.receive(finished("report", "success", "executed"))
    assert len(samples(metrics)) == 1
    gone = kronjobs.pop()
    assert samples(metrics) == []
    kronjobs.append(gone)  # another one of the name begins at zero
    assert samples(metrics) == []
