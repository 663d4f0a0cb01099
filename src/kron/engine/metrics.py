"""Metrics: a sink that counts events, and the text that Prometheus reads.

Four counts and the drift have the names of the specification. They are repeated with the prefix `kron_`, for hosts
where a name without prefix would be taken. No label names a schedule: the number of series is bounded by the number of
reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from kron.engine.events import Event
from kron.rules.run_state import OPEN

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNPREFIXED_METRICS = {
    "schedules_due": ("gauge", "Schedules read in the latest pass."),
    "runs_emitted": ("counter", "Runs that their targets accepted."),
    "runs_skipped_overlap": ("counter", "Periods skipped because the previous run was active."),
    "runs_failed_launch": ("counter", "Periods whose run could not be launched."),
}
GAUGES = {
    "kron_clock_skew_seconds": "Clock skew: how far the host's clock is ahead of the store's.",
    "kron_targets_held": "Targets that this worker holds now after failed launches.",
}
DRIFTS = {
    "scheduling_drift_seconds": "Absolute difference between the nominal time of a run and its launch.",
    "scheduling_lateness_seconds": (
        "Absolute difference between the due time of a run (after window and jitter) and its launch."
    ),
}
KRON_COUNTERS = {
    "kron_periods_not_executed_total": "Periods that were not executed, by outcome and reason.",
    "kron_runs_started_total": "Functions that an embedded scheduler started.",
    "kron_runs_finished_total": "Runs that ended, by state.",
    "kron_runs_lost_total": "Runs that stopped reporting.",
    "kron_launch_results_total": "Launch attempts by the target's response.",
    "kron_launch_results_fenced_total": "Responses rejected because another worker had taken over the run.",
    "kron_launches_withheld_total": "Claimed runs that were not sent. Kron launches them later.",
    "kron_breakers_opened_total": "How often this worker began to hold a target after failed launches.",
    "kron_breakers_closed_total": "How often this worker released a target, because a launch succeeded.",
    "kron_worker_passes_total": "Passes of the worker.",
    "kron_worker_passes_failed_total": "Passes that failed because of the store.",
    "kron_pauses_expired_total": "Pauses that expired.",
    "kron_schedules_paused_total": "Schedules that a worker paused because of failed runs.",
    "kron_worker_passes_skipped_clock_skew_total": "Passes not made because the clock skew exceeded the limit.",
    "kron_events_dropped_total": "Log lines that could not be written.",
    "kron_schedules_set_aside_total": "How often a schedule was set aside because it could not be read or committed.",
    "kron_observers_failed_total": "Events on which an observer raised an exception.",
}
_EVENT_COUNTERS = {
    "run_started": "kron_runs_started_total",
    "launch_fenced": "kron_launch_results_fenced_total",
    "launch_withheld": "kron_launches_withheld_total",
    "breaker_opened": "kron_breakers_opened_total",
    "breaker_closed": "kron_breakers_closed_total",
    "pass": "kron_worker_passes_total",
    "pass_failed": "kron_worker_passes_failed_total",
    "pause_expired": "kron_pauses_expired_total",
    "schedule_paused": "kron_schedules_paused_total",
    "clock_skew_exceeded": "kron_worker_passes_skipped_clock_skew_total",
    "schedule_set_aside": "kron_schedules_set_aside_total",
    "observer_failed": "kron_observers_failed_total",
}


class Histogram:
    """Histogram of values, in seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(BUCKETS, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Yield the samples: for each bucket, the number of values up to its bound."""
        total = 0
        for bound, count in zip((*map(repr, BUCKETS), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.sum!r}"
        yield f"{name}_count {total}"


class Metrics:
    """Sink that counts events."""

    def __init__(self) -> None:
        self.values: Counter[str] = Counter(dict.fromkeys((*UNPREFIXED_METRICS, *KRON_COUNTERS), 0))
        self.labelled: dict[str, Counter[str]] = {
            "kron_periods_not_executed_total": Counter(),
            "kron_runs_finished_total": Counter(),
            "kron_launch_results_total": Counter(),
        }
        self.gauges = dict.fromkeys(GAUGES, 0.0)
        self.drifts = {name: Histogram() for name in DRIFTS}

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        facts = event.facts
        if event.name in _EVENT_COUNTERS:
            self.values[_EVENT_COUNTERS[event.name]] += 1
        if "skew" in facts:
            self.gauges["kron_clock_skew_seconds"] = facts["skew"] / 1000
        if "held" in facts:
            self.gauges["kron_targets_held"] = float(facts["held"])
        if event.name == "pass":
            self.values["schedules_due"] = facts["examined"]
        elif event.name == "gap_recorded":
            self._count_not_run(facts["outcome"], facts["reason"], facts["count"])
        elif event.name in ("run_finished", "launch_completed"):
            self._count_end(event)
        if event.name == "launch_completed":
            self._count_launch(event)

    def drop(self) -> None:
        """Count an event that the log could not write."""
        self.values["kron_events_dropped_total"] += 1

    def _count_end(self, event: Event) -> None:
        outcome, reason = event.facts.get("outcome"), str(event.facts.get("reason"))
        if outcome and outcome != "executed":
            self._count_not_run(outcome, reason, 1)
            self.values["runs_skipped_overlap"] += reason == "overlap"
            self.values["runs_failed_launch"] += reason == "launch_failed"
        if event.facts["state"] not in OPEN:
            self.labelled["kron_runs_finished_total"][f'state="{event.facts["state"]}"'] += 1
        self.values["kron_runs_lost_total"] += event.facts["state"] == "lost"

    def _count_launch(self, event: Event) -> None:
        facts = event.facts
        self.labelled["kron_launch_results_total"][f'result="{facts["result"]}"'] += 1
        if facts["result"] != "ok":
            return
        self.values["runs_emitted"] += 1
        if "trigger" not in facts:  # a requested run has no nominal time to drift from
            self.drifts["scheduling_drift_seconds"].observe(abs(facts["sent"] - facts["nominal"] * 1000) / 1000)
            self.drifts["scheduling_lateness_seconds"].observe(abs(facts["sent"] - facts["due_at"]) / 1000)

    def _count_not_run(self, outcome: str, reason: str, count: int) -> None:
        self.labelled["kron_periods_not_executed_total"][f'outcome="{outcome}",reason="{reason}"'] += count

    def text(self) -> str:
        """Return all metrics in the Prometheus text format."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, (kind, help_text) in UNPREFIXED_METRICS.items():
            for alias in (name, f"kron_{name}"):
                yield from (f"# HELP {alias} {help_text}", f"# TYPE {alias} {kind}", f"{alias} {self.values[name]}")
        for name, help_text in DRIFTS.items():
            for alias in (name, f"kron_{name}"):
                yield from (f"# HELP {alias} {help_text}", f"# TYPE {alias} histogram")
                yield from self.drifts[name].lines(alias)
        for name, help_text in GAUGES.items():
            yield from (f"# HELP {name} {help_text}", f"# TYPE {name} gauge", f"{name} {self.gauges[name]!r}")
        for name, help_text in KRON_COUNTERS.items():
            yield from (f"# HELP {name} {help_text}", f"# TYPE {name} counter")
            if name in self.labelled:
                yield from (f"{name}{{{labels}}} {n}" for labels, n in sorted(self.labelled[name].items()))
            else:
                yield f"{name} {self.values[name]}"
