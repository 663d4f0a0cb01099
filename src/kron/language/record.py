"""Decision -> JSON, with all that is needed to compute it again, and the check that it was right."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from kron.core.decision import Decision, decide, tally
from kron.core.due import due_of
from kron.core.job import Job
from kron.core.period import Period, next_nominal
from kron.core.policy import MILLISECOND
from kron.core.run import key_of
from kron.core.schedule import Schedule
from kron.core.schedule.chance import Anchor, Exponential, Normal, SkewEarly, SkewLate
from kron.core.schedule.window import SECOND, Mode
from kron.core.zone import instant_of, rfc3339, rfc3339_ms
from kron.errors import KronError
from kron.language import parse
from kron.language.duration import write_duration
from kron.language.explain import dialect_of, unparse, write_clauses

Json = dict[str, Any]

QUESTION = ("identity", "dialect", "schedule", "timezone", "period_id")  # what a decision is computed from
ANSWER = (
    "nominal_time",
    "window_start",
    "window_end",
    "chosen_time",
    "distribution",
    "seed_strategy",
    "seed_hash",
    "constraints_applied",
)


def record(decision: Decision) -> Json:
    """The decision as JSON, by the names of the specification."""
    schedule = decision.schedule
    return {
        "identity": decision.identity,
        "dialect": dialect_of(schedule),
        "schedule": unparse(schedule),
        "timezone": schedule.zone.name,
        "period_id": decision.period.id,
        "nominal_time": decision.period.id,
        "window_start": _nanos(decision.window.start),
        "window_end": _nanos(decision.window.end),
        "chosen_time": None if decision.at is None else rfc3339(decision.at),
        "distribution": {"name": schedule.distribution.name, "parameters": _parameters(schedule)},
        "seed_strategy": {"name": str(schedule.seed.strategy), "parameters": {"salt": schedule.seed.salt}},
        "period_key": decision.period_key,
        "seed_hash": decision.seed_hash,
        "constraints_applied": _constraints(decision),
        "attempts": decision.attempts,
        "outcome": "unschedulable" if decision.unschedulable else None,
        "reason": "constraints" if decision.unschedulable else None,
    }


def record_of(job: Job, period: Period) -> Json:
    """Return the decision of a job's period as JSON. It says when the run is due, with jitter if the policy has it."""
    decided = record(decide(job.schedule, period, job.identity))
    jitter = job.schedule.policy.jitter // MILLISECOND * MILLISECOND
    if not jitter:
        return decided
    key, start, end = key_of(job.identity, period.nominal), job.start, job.end
    drawn = {
        "jitter_ms": jitter // MILLISECOND,
        "start_at": None if start is None else rfc3339(start),
        "end_at": None if end is None else rfc3339(end),
        "window_start": _nanos(period.nominal * SECOND - jitter),
        "window_end": _nanos(period.nominal * SECOND + jitter),
        "chosen_time": rfc3339_ms(due_of(job, period.nominal).at),
        "distribution": {"name": "uniform", "parameters": {}},
        "seed_strategy": {"name": "key", "parameters": {}},
        "period_key": period.id,
        "seed_hash": key,
        "attempts": 1,
        "outcome": None,
        "reason": None,
    }
    return decided | drawn


def _parameters(schedule: Schedule) -> Json:
    """The parameters of the distribution as they were in force, defaults included."""
    match schedule.distribution:
        case SkewEarly(shape) | SkewLate(shape):
            return {"shape": shape}
        case Exponential(decay, lean):
            return {"lambda": decay, "dir": str(lean)}
        case Normal(mu, sigma):
            anchor = mu or (Anchor.NOMINAL if schedule.window.mode is Mode.AROUND else Anchor.MID)
            return {"mu": str(anchor), "sigma": write_duration(sigma or schedule.window.duration // 6)}
        case _:
            return {}


def _constraints(decision: Decision) -> Json:
    """What was asked of the chosen time, and how often each clause refused a candidate."""
    constraints = decision.schedule.constraints
    return {
        "only": write_clauses(constraints.only) if constraints.only else None,
        "avoid": write_clauses(constraints.avoid) if constraints.avoid else None,
        "refused": tally(decision),
    }


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of a recorded decision that does not follow from the rest of it."""

    field: str
    recorded: object
    computed: object


def verify(recorded: Json | str) -> list[Difference]:
    """What in a recorded decision differs from the same decision computed anew; nothing, if it is right.

    The text of the schedule need not be canonical, and a field that only one of the two has is no
    difference: another release may have another canonical form, and record more or less.
    """
    given = _fields(recorded)
    zone = "UTC" if given["dialect"] == "kron" else given["timezone"]  # a text of Kron's own names its zone
    schedule = parse(given["schedule"], dialect=given["dialect"], zone=zone)
    try:
        nominal = instant_of(given["period_id"])
    except ValueError:
        raise _malformed("period_id is not an instant, such as 2026-03-01T00:00:00Z") from None
    if next_nominal(schedule, nominal - 1) != nominal:
        return [Difference("period_id", given["period_id"], None)]
    try:
        computed = record_of(_job(given, schedule), Period(nominal))
    except ValueError:
        raise _malformed("identity is not a line of text") from None
    answers = {key: value for key, value in computed.items() if key in given and key not in ("dialect", "schedule")}
    return [Difference(key, given[key], value) for key, value in answers.items() if given[key] != value]


def _job(given: Json, schedule: Schedule) -> Job:
    """Return the job that a record is about. A record without jitter needs nothing but the schedule."""
    jitter = given.get("jitter_ms", 0)
    if type(jitter) is not int or jitter < 0:
        raise _malformed("jitter_ms is not a number of milliseconds")
    try:
        start, end = (None if given.get(n) is None else instant_of(given[n]) for n in ("start_at", "end_at"))
    except (ValueError, TypeError, AttributeError):
        raise _malformed("start_at or end_at is not an instant, such as 2026-03-01T00:00:00Z") from None
    policy = replace(schedule.policy, jitter=jitter * MILLISECOND)
    return Job(given["identity"], replace(schedule, policy=policy), start=start, end=end)


def _fields(recorded: Json | str) -> Json:
    try:
        given = json.loads(recorded) if isinstance(recorded, str) else recorded
    except (ValueError, RecursionError):
        raise _malformed("it is not JSON") from None
    if not isinstance(given, dict):
        raise _malformed("it is not a JSON object")
    for key in QUESTION:
        if not isinstance(given.get(key), str):
            raise _malformed(f"it has no {key}")
    for key in ANSWER:
        if key not in given:
            raise _malformed(f"it has no {key}")
    return given


def _malformed(reason: str) -> KronError:
    return KronError(
        "NOT_A_DECISION", f"this is no recorded decision: {reason}", hint="give what kron next or explain wrote"
    )


def _nanos(nanoseconds: int) -> str:
    return rfc3339(*divmod(nanoseconds, SECOND))
