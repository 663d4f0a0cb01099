"""KronJob of a switch: its times, its suspension, and what the operator has told about it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from kron.apps.operator.definition import OperatorDefaults, job_of_kronjob
from kron.apps.operator.switch.quiet import Span
from kron.errors import InvalidInput
from kron.kube.kind import GROUP, Body, place_of, seconds_of
from kron.timing.due import window_extent
from kron.timing.job import Job
from kron.timing.period import nominals
from kron.timing.schedule.policy import Overlap

PHASE = f"{GROUP}/switch"  # annotation: how far a switch is
SUSPENDED_AT = f"{GROUP}/suspended-by-switch"  # annotation: when a switch back has suspended the KronJob


class Phase(StrEnum):
    """How far a switch is, as the annotation of the KronJob tells."""

    NONE = ""
    WAITING = "waiting"  # the KronJob is suspended until the CronJob is
    DONE = "done"  # the KronJob has taken over
    BACK = "back"  # the KronJob is suspended, and the CronJob takes over again


class KronJobSide(NamedTuple):
    """A KronJob and its times. Times are in seconds."""

    body: Body
    job: Job

    @property
    def version(self) -> str:
        """Version, as the precondition of a change."""
        return str(self.body["metadata"].get("resourceVersion") or "")

    @property
    def phase(self) -> Phase:
        """How far a switch is. A text that no switch has written counts as none."""
        text = str(self._annotations.get(PHASE) or "")
        return Phase(text) if text in set(Phase) else Phase.NONE

    @property
    def suspended_at(self) -> int | None:
        """When a switch back has suspended it."""
        return seconds_of(self._annotations.get(SUSPENDED_AT))

    @property
    def is_suspended(self) -> bool:
        """Whether its policy suspends it."""
        return self.job.schedule.policy.suspend

    @property
    def refusal(self) -> str:
        """Why the operator refuses its present spec; empty if it does not."""
        for name in ("Ready", "TemplateValid"):
            condition = self._conditions.get(name, {})
            if self.is_seen and condition.get("status") == "False":
                return f"{condition.get('reason')}: {condition.get('message', '')}"
        return ""

    @property
    def is_seen(self) -> bool:
        """Whether the operator has told about its present spec."""
        return bool(self._status.get("observedGeneration") == self.body["metadata"].get("generation"))

    @property
    def is_accepted(self) -> bool:
        """Whether the operator has accepted its present spec."""
        return self.is_seen and self._conditions.get("Ready", {}).get("status") == "True" and not self.refusal

    @property
    def next_run(self) -> str:
        """Next run, as the operator tells; empty if there is none."""
        return str(self._status.get("nextRun") or "")

    def unhandled(self, now: int) -> str:
        """Return what the operator still has to do for the periods so far; empty if all are handled."""
        following = seconds_of(self._status.get("nextPeriodID"))
        if not self.is_seen or (following is not None and following <= now):
            return "the operator has not handled its last period yet"
        pending = [each for each in self._status.get("recent") or () if not each.get("outcome")]
        if pending:
            return f"its period {pending[0].get('periodID')} has no outcome yet"
        active = int(self._status.get("active") or 0)
        is_alone = self.job.schedule.policy.overlap not in (Overlap.ALLOW, Overlap.REPLACE)
        return "its Job has not ended" if active and is_alone else ""

    def spans(self, first: int, last: int) -> Iterator[Span]:
        """Yield the windows of its periods that touch a time. The chosen times need the prefix of the identity."""
        before, after = window_extent(self.job)
        for nominal in nominals(self.job.schedule, first - after - 1, last + before):
            yield Span(nominal - before, nominal + after)

    @property
    def _annotations(self) -> dict[str, Any]:
        annotations: dict[str, Any] = self.body["metadata"].get("annotations") or {}
        return annotations

    @property
    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.body.get("status") or {}
        return status

    @property
    def _conditions(self) -> dict[str, dict[str, Any]]:
        return {str(each.get("type")): each for each in self._status.get("conditions") or ()}


def kronjob_side(body: Body) -> KronJobSide:
    """Return a KronJob with its definition.

    Raises:
        KronError: The spec is invalid, or it is suspended by the text of its schedule, which no patch can change.
    """
    spec = body.get("spec") or {}
    job = job_of_kronjob(place_of(body), spec, OperatorDefaults())
    if job.schedule.policy.suspend and not (spec.get("policy") or {}).get("suspend"):
        message = f"KronJob {'/'.join(place_of(body))} is suspended by @policy in its schedule"
        raise InvalidInput("BAD_FIELD", message, hint="write policy.suspend: true instead")
    return KronJobSide(body, job)
