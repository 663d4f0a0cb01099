"""Metrics: what happened, counted. A sink that hears events, and the text that Prometheus reads.

Four counts and the drift bear the names of the specification, and the same with `kron_` before them, for hosts
where a bare name would be taken. No label names a schedule: there are no more series than there are reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from kron.events import Event

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PLAIN = {
    "schedules_due": ("gauge", "Schedules that were looked at in the latest pass."),
    "runs_emitted": ("counter", "Runs that their targets accepted."),
    "runs_skipped_overlap": ("counter", "Periods skipped since the previous run was still going."),
    "runs_failed_launch": ("counter", "Periods whose run could not be started."),
}
GAUGES = {"kron_clock_skew_seconds": "How far the clock of this host is ahead of the store's."}
DRIFTS = {
    "scheduling_drift_seconds": "From the planned time of a run to its start, either way.",
    "scheduling_lateness_seconds": "From the chosen time of a run, after jitter and window, to its start, either way.",
}
OWN = {
    "kron_periods_not_run": "Periods that were not run, by what became of them, and why.",
    "kron_runs_lost": "Runs that fell silent.",
    "kron_launch_answers": "What came of sending a run.",
    "kron_launches_fenced": "Answers that came too late: another worker had taken over.",
    "kron_launches_withheld": "Claimed runs that were not sent, and went back to be tried again.",
    "kron_passes": "Passes of the worker.",
    "kron_passes_failed": "Passes that the store failed.",
    "kron_pauses_ended": "Pauses that ended by themselves.",
    "kron_passes_astray": "Passes not made, since the clocks of this host and of the store disagree.",
    "kron_events_dropped": "Events that the log of this process could not write.",
    "kron_schedules_set_aside_total": "Times that a schedule was set aside, since it could not be read or committed.",
    "kron_observers_failed": "Events that an observer failed at.",
}
_COUNTED = {
    "launch_fenced": "kron_launches_fenced",
    "launch_withheld": "kron_launches_withheld",
    "pass": "kron_passes",
    "pass_failed": "kron_passes_failed",
    "pause_ended": "kron_pauses_ended",
    "clock_astray": "kron_passes_astray",
    "schedule_set_aside": "kron_schedules_set_aside_total",
    "observer_failed": "kron_observers_failed",
}


class Histogram:
    """How often a value was how large."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(BUCKETS, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Its samples: how many were no larger than each bound."""
        total = 0
        for bound, count in zip((*map(repr, BUCKETS), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.sum!r}"
        yield f"{name}_count {total}"


class Metrics:
    """Hears events, and counts."""

    def __init__(self) -> None:
        self.values: Counter[str] = Counter(dict.fromkeys((*PLAIN, *OWN), 0))
        self.labelled: dict[str, Counter[str]] = {"kron_periods_not_run": Counter(), "kron_launch_answers": Counter()}
        self.gauges = dict.fromkeys(GAUGES, 0.0)
        self.drifts = {name: Histogram() for name in DRIFTS}

    def __call__(self, event: Event) -> None:
        """Hear an event."""
        facts = event.facts
        if event.name in _COUNTED:
            self.values[_COUNTED[event.name]] += 1
        if "skew" in facts:
            self.gauges["kron_clock_skew_seconds"] = facts["skew"] / 1000
        if event.name == "pass":
            self.values["schedules_due"] = facts["looked"]
        elif event.name == "gap_recorded":
            self._not_run(facts["verdict"], facts["reason"], facts["count"])
        elif event.name in ("run_ended", "launch_answered"):
            self._ended(event)
        if event.name == "launch_answered":
            self._answered(event)

    def drop(self) -> None:
        """Count an event that the log could not write."""
        self.values["kron_events_dropped"] += 1

    def _ended(self, event: Event) -> None:
        verdict, reason = event.facts.get("verdict"), str(event.facts.get("reason"))
        if verdict and verdict != "executed":
            self._not_run(verdict, reason, 1)
            self.values["runs_skipped_overlap"] += reason == "overlap"
            self.values["runs_failed_launch"] += reason == "launch_failed"
        self.values["kron_runs_lost"] += event.facts["state"] == "lost"

    def _answered(self, event: Event) -> None:
        facts = event.facts
        self.labelled["kron_launch_answers"][f'answer="{facts["answer"]}"'] += 1
        if facts["answer"] != "ok":
            return
        self.values["runs_emitted"] += 1
        if "trigger" not in facts:  # a run by request has no planned time to drift from
            self.drifts["scheduling_drift_seconds"].observe(abs(facts["sent"] - facts["nominal"] * 1000) / 1000)
            self.drifts["scheduling_lateness_seconds"].observe(abs(facts["sent"] - facts["due"]) / 1000)

    def _not_run(self, verdict: str, reason: str, count: int) -> None:
        self.labelled["kron_periods_not_run"][f'outcome="{verdict}",reason="{reason}"'] += count

    def text(self) -> str:
        """All of it, in the text format of Prometheus."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, (kind, words) in PLAIN.items():
            for alias in (name, f"kron_{name}"):
                yield from (f"# HELP {alias} {words}", f"# TYPE {alias} {kind}", f"{alias} {self.values[name]}")
        for name, words in DRIFTS.items():
            for alias in (name, f"kron_{name}"):
                yield from (f"# HELP {alias} {words}", f"# TYPE {alias} histogram")
                yield from self.drifts[name].lines(alias)
        for name, words in GAUGES.items():
            yield from (f"# HELP {name} {words}", f"# TYPE {name} gauge", f"{name} {self.gauges[name]!r}")
        for name, words in OWN.items():
            yield from (f"# HELP {name} {words}", f"# TYPE {name} counter")
            if name in self.labelled:
                yield from (f"{name}{{{labels}}} {n}" for labels, n in sorted(self.labelled[name].items()))
            else:
                yield f"{name} {self.values[name]}"
