"""Fields of a KronJob's status."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kron.apps.operator.clock_skew import REASON as CLOCK_SKEW
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.stuck import REASON as JOB_STUCK
from kron.kube.kind import Body
from kron.kube.names import job_name
from kron.language.record import record_of
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming
from kron.timing.period import Period
from kron.timing.zone import rfc3339

MAX_DECISION = 2_048  # characters, as the schema allows
MAX_MESSAGE = 1_024  # characters of a condition's message
_ENDS = {State.SUCCESS: "success", State.FAILED: "failed", State.LOST: "lost", State.UNKNOWN: "unknown"}
_TRUE, _FALSE = "True", "False"
DEGRADED = "Degraded"


class Facts(NamedTuple):
    """What a status tells about."""

    kronjob: KronJob
    state: ScheduleState | None  # None: the schedule was never defined
    runs: tuple[Run, ...]  # newest first
    gap: GapRecord | None  # latest gap record
    error: str  # of the spec; empty if it is valid
    template: Body | None  # condition TemplateValid; None: not checked
    skew: str = ""  # what is wrong with the clocks; empty if they agree
    stuck: str = ""  # which Job is stuck; empty if none is


def status_of(facts: Facts, before: Body, now: int) -> Body:
    """Return the fields of a status. None removes a field; a field that is left out stays.

    Args:
        facts: What is known of the KronJob.
        before: The status that the API server has.
        now: Current time in milliseconds.
    """
    conditions = _conditions(facts, before, now)
    status: Body = {"observedGeneration": facts.kronjob.generation, "conditions": conditions}
    if facts.state is None:
        return status
    return status | _next(facts.state, now) | _last(facts, facts.state, before)


def _next(state: ScheduleState, now: int) -> Body:
    dues = upcoming(state, now, 1)
    return {
        "nextRun": rfc3339(dues[0].at // 1000) if dues else None,
        "nextPeriodID": rfc3339(dues[0].nominal) if dues else None,
        "active": sum(run.active for run in state.open_runs),
    }


def _last(facts: Facts, state: ScheduleState, before: Body) -> Body:
    """Return the fields on the newest period and the newest runs."""
    name, runs, gap = facts.kronjob.place.name, facts.runs, facts.gap
    fields: Body = {"recent": [_recent(name, run) for run in runs]}
    periods = [run.nominal for run in runs if not run.trigger] + ([gap.last] if gap else [])
    if periods:
        last, shown = rfc3339(max(periods)), str(before.get("lastPeriodID") or "")
        fields["lastPeriodID"] = max(last, shown)  # never goes back: it protects a store that is lost
    decided = next((run for run in runs if run.outcome is not None), None)
    if gap is not None and (decided is None or gap.last > decided.nominal):
        fields |= {"lastNominalTime": rfc3339(gap.last), "lastOutcome": str(gap.outcome), "lastReason": str(gap.reason)}
    elif decided is not None:
        fields |= _decided(decided, state)
    executed = next((run for run in runs if run.outcome is Outcome.EXECUTED), None)
    if executed is not None:
        fields |= {"lastJob": job_name(name, executed.key), "lastEnd": _ENDS.get(executed.state)}
    succeeded = [run.changed for run in runs if run.state is State.SUCCESS]
    if succeeded:
        fields["lastSuccessfulTime"] = rfc3339(max(succeeded) // 1000)
    return fields


def _decided(run: Run, state: ScheduleState) -> Body:
    fields: Body = {
        "lastNominalTime": rfc3339(run.nominal),
        "lastChosenTime": rfc3339(run.due // 1000),
        "lastOutcome": str(run.outcome),
        "lastReason": str(run.reason) if run.reason else None,
    }
    if not run.trigger and run.revision == state.revision:
        decision = record_of(state.job, Period(run.nominal))
        text = json.dumps(decision, ensure_ascii=False, separators=(",", ":"))
        fields["lastDecision"] = text if len(text) <= MAX_DECISION else None
    return fields


def _recent(name: str, run: Run) -> dict[str, str]:
    """Return one of the newest runs. Values that it does not have are left out."""
    values = {
        "periodID": rfc3339(run.nominal),
        "chosen": rfc3339(run.due // 1000),
        "outcome": str(run.outcome) if run.outcome else "",
        "reason": str(run.reason) if run.reason else "",
        "job": job_name(name, run.key) if run.outcome is Outcome.EXECUTED else "",
        "end": _ENDS.get(run.state, "") if run.outcome is Outcome.EXECUTED else "",
    }
    return {key: value for key, value in values.items() if value}


def _conditions(facts: Facts, before: Body, now: int) -> list[Body]:
    state, is_valid = facts.state, not facts.error
    ready = _condition("Ready", is_valid, "Scheduled" if is_valid else "InvalidSpec", facts.error)
    is_paused, is_suspended = bool(state and state.paused), bool(state and state.policy.suspend)
    reason = "Paused" if is_paused else "Suspended" if is_suspended else "Active"
    conditions = [ready, _condition("Suspended", is_paused or is_suspended, reason)]
    if facts.template is not None:
        conditions.append(facts.template)
    old = {each.get("type"): each for each in before.get("conditions") or () if isinstance(each, dict)}
    if facts.skew or facts.stuck or DEGRADED in old:
        conditions.append(_degraded(facts))
    generation = facts.kronjob.generation
    new = [_dated(each, old.get(each["type"]), generation, now) for each in conditions]
    written = {each["type"] for each in new}
    return new + [each for name, each in old.items() if name not in written and name == "TemplateValid"]


def _degraded(facts: Facts) -> Body:
    """Return the condition on what does not work as it should, although the schedule is valid."""
    reason = CLOCK_SKEW if facts.skew else JOB_STUCK if facts.stuck else "AsExpected"
    return _condition(DEGRADED, reason != "AsExpected", reason, " ".join(filter(None, (facts.skew, facts.stuck))))


def _condition(kind: str, is_true: bool, reason: str, message: str = "") -> Body:
    return {"type": kind, "status": _TRUE if is_true else _FALSE, "reason": reason, "message": message[:MAX_MESSAGE]}


def _dated(condition: Body, old: Any, generation: int, now: int) -> Body:
    """Return a condition with its generation, and with the time at which its status changed.

    An empty message is left out: Kubernetes 1.20 refuses it.
    """
    is_unchanged = bool(old) and old.get("status") == condition["status"] and old.get("lastTransitionTime")
    since = old["lastTransitionTime"] if is_unchanged else rfc3339(now // 1000)
    told = {name: value for name, value in condition.items() if value != ""}
    return {"observedGeneration": generation, **told, "lastTransitionTime": since}
