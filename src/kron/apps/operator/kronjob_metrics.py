"""Metrics of each KronJob, for `--metrics-per-job`. Each KronJob adds series, so they are off by default."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import KronJob
from kron.engine.events import Event
from kron.kube.kind import Place, seconds_of
from kron.rules.run_state import OPEN

JOBS_CREATED = "kron_operator_kronjob_jobs_created_total"
NOT_EXECUTED = "kron_operator_kronjob_periods_not_executed_total"
FINISHED = "kron_operator_kronjob_runs_finished_total"
LAST_SUCCESS = "kron_operator_kronjob_last_success_timestamp_seconds"
HELP_TEXTS = {
    JOBS_CREATED: ("counter", "Jobs that were created.", ()),
    NOT_EXECUTED: ("counter", "Periods that were not executed.", ("outcome", "reason")),
    FINISHED: ("counter", "Runs that ended.", ("state",)),
    LAST_SUCCESS: ("gauge", "When the last successful Job ended, as the status says.", ()),
}
Labels = tuple[tuple[str, str], ...]


class KronJobMetrics:
    """Counter of what becomes of the runs of each KronJob.

    Args:
        identities: Identities of the KronJobs.
        kronjobs: Returns the KronJobs of the cluster. A KronJob that is gone has no metrics.
    """

    def __init__(self, identities: Identities, kronjobs: Callable[[], Iterable[KronJob]]) -> None:
        self.identities, self.kronjobs = identities, kronjobs
        self._counts = defaultdict[Place, Counter[tuple[str, Labels]]](Counter)

    def receive(self, event: Event) -> None:
        """Count an event of the worker."""
        if event.name not in ("gap_recorded", "run_finished", "launch_completed"):
            return
        facts, place = event.facts, self.identities.place(str(event.facts.get("identity", "")))
        if place is None:
            return
        counts, outcome = self._counts[place], str(facts.get("outcome") or "executed")
        if outcome != "executed":
            labels = (("outcome", outcome), ("reason", str(facts.get("reason"))))
            counts[NOT_EXECUTED, labels] += facts.get("count", 1)
        if event.name == "launch_completed" and facts["result"] == "ok":
            counts[JOBS_CREATED, ()] += 1
        if event.name != "gap_recorded" and facts["state"] not in OPEN:
            counts[FINISHED, (("state", str(facts["state"])),)] += 1

    def text(self) -> str:
        """Return the metrics as text."""
        kronjobs = sorted(self.kronjobs(), key=lambda kronjob: kronjob.place)
        self._forget({kronjob.place for kronjob in kronjobs})
        return "\n".join(line for name in HELP_TEXTS for line in self._lines(name, kronjobs)) + "\n"

    def _lines(self, name: str, kronjobs: Iterable[KronJob]) -> Iterator[str]:
        kind, text, _ = HELP_TEXTS[name]
        yield from (f"# HELP {name} {text}", f"# TYPE {name} {kind}")
        for kronjob in kronjobs:
            for labels, value in self._values(name, kronjob):
                named = (("namespace", kronjob.place.namespace), ("name", kronjob.place.name), *labels)
                texts = [f'{label}="{value_of}"' for label, value_of in named]
                yield f"{name}{{{','.join(texts)}}} {value}"

    def _values(self, name: str, kronjob: KronJob) -> list[tuple[Labels, int]]:
        if name == LAST_SUCCESS:
            seconds = seconds_of(kronjob.status.get("lastSuccessfulTime"))
            return [] if seconds is None else [((), seconds)]
        counts = self._counts.get(kronjob.place, Counter())
        return sorted((labels, count) for (each, labels), count in counts.items() if each == name)

    def _forget(self, known: set[Place]) -> None:
        for place in self._counts.keys() - known:
            del self._counts[place]
