"""Decisions as JSON, with all inputs that are needed to compute them again, and their verification."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from kron.errors import InvalidInput
from kron.language.canonical import canonical, unparse, write_clauses
from kron.language.duration import write_duration
from kron.language.reading import read_stored
from kron.timing.decision import Decision, count_rejections, decide
from kron.timing.due import due_of, window_of
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import Period, next_nominal
from kron.timing.recurrence import stands_for
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import MILLISECOND
from kron.timing.schedule.sampling import Anchor, Exponential, Normal, SkewEarly, SkewLate
from kron.timing.schedule.window import SECOND, Mode
from kron.timing.zone import Zone, instant_of, rfc3339, rfc3339_ms

Json = dict[str, Any]

INPUT_FIELDS = ("identity", "dialect", "schedule", "timezone", "period_id")  # inputs of a decision
RESULT_FIELDS = (
    "nominal_time",
    "window_start",
    "window_end",
    "chosen_time",
    "distribution",
    "seed_strategy",
    "seed_hash",
    "constraints_applied",
)
_NOT_COMPARED = ("dialect", "schedule", "tz", "tz_fingerprint")  # another text or tz database can give the same result


def to_record(decision: Decision) -> Json:
    """Return a decision as JSON, with the field names of the specification."""
    schedule = decision.schedule
    missing_time = stands_for(schedule, decision.period.nominal)
    return {
        "identity": decision.identity,
        "dialect": canonical(schedule).dialect,
        "schedule": unparse(schedule),
        "timezone": schedule.zone.name,
        "tz": schedule.zone.version,
        "tz_fingerprint": schedule.zone.fingerprint,
        "period_id": decision.period.id,
        "nominal_time": decision.period.id,
        "window_start": _write_nanoseconds(decision.window.start),
        "window_end": _write_nanoseconds(decision.window.end),
        "chosen_time": None if decision.chosen is None else rfc3339(decision.chosen),
        "distribution": {"name": schedule.distribution.name, "parameters": _parameters(schedule)},
        "seed_strategy": {"name": str(schedule.seed.strategy), "parameters": {"salt": schedule.seed.salt}},
        "period_key": decision.period_key,
        "seed_hash": decision.seed_hash,
        "constraints_applied": _constraints(decision),
        "attempts": decision.draws,
        "outcome": "unschedulable" if decision.unschedulable else None,
        "reason": "constraints" if decision.unschedulable else None,
    } | ({} if missing_time is None else {"stands_for": f"{missing_time.replace(' ', 'T')} (gap)"})


def record_of(job: Job, period: Period) -> Json:
    """Return the decision of a job's period as JSON. If the policy has jitter, the chosen time includes it."""
    record = to_record(decide(job.schedule, period, job.identity))
    jitter = job.schedule.policy.jitter // MILLISECOND * MILLISECOND
    if not jitter:
        return record
    key, start, end, window = key_of(job.identity, period.nominal), job.start, job.end, window_of(job, period.nominal)
    jitter_fields = {
        "jitter_ms": jitter // MILLISECOND,
        "start_at": None if start is None else rfc3339(start),
        "end_at": None if end is None else rfc3339(end),
        "window_start": _write_nanoseconds(window.start),
        "window_end": _write_nanoseconds(window.end),
        "chosen_time": rfc3339_ms(due_of(job, period.nominal).at),
        "distribution": {"name": "uniform", "parameters": {}},
        "seed_strategy": {"name": "key", "parameters": {}},
        "period_key": period.id,
        "seed_hash": key,
        "attempts": 1,
        "outcome": None,
        "reason": None,
    }
    return record | jitter_fields


def _parameters(schedule: Schedule) -> Json:
    """Return the effective parameters of the distribution, defaults included."""
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
    """Return the constraints of the chosen time, and how many candidates each clause rejected."""
    constraints = decision.schedule.constraints
    return {
        "only": write_clauses(constraints.only) if constraints.only else None,
        "avoid": write_clauses(constraints.avoid) if constraints.avoid else None,
        "refused": count_rejections(decision),
    }


@dataclass(frozen=True, slots=True)
class Difference:
    """Field of a recorded decision that differs from the computed value."""

    field: str
    recorded: object
    computed: object


def verify(recorded: Json | str) -> list[Difference]:
    """Compute a recorded decision again, and return the fields that differ; an empty list if the record is correct.

    The schedule text does not have to be canonical. A field that only one of the two has is not a difference. Both
    rules exist because another release can have another canonical form and record other fields.

    Another tz database alone is not a difference. If the result differs and the zone has other rules in the recorded
    tz database than here, the fields `tz` and `tz_fingerprint` come last.

    Args:
        recorded: The record, as a mapping or as JSON text.

    Raises:
        InvalidInput: The input is not a recorded decision, or its schedule text is invalid.
    """
    fields = _recorded_fields(recorded)
    # A text in the dialects kron and plus names its time zone.
    zone_name = "UTC" if fields["dialect"] in ("kron", "plus") else fields["timezone"]
    schedule = read_stored(fields["schedule"], fields["dialect"], zone_name)
    try:
        nominal = instant_of(fields["period_id"])
    except ValueError:
        raise _malformed("period_id is not an instant, such as 2026-03-01T00:00:00Z") from None
    if next_nominal(schedule, nominal - 1) != nominal:
        return [Difference("period_id", fields["period_id"], None), *_tz_differences(fields, schedule.zone)]
    try:
        computed = record_of(_recorded_job(fields, schedule), Period(nominal))
    except ValueError:
        raise _malformed("identity is not a line of text") from None
    computed_fields = {key: value for key, value in computed.items() if key in fields and key not in _NOT_COMPARED}
    differences = [
        Difference(key, fields[key], value) for key, value in computed_fields.items() if fields[key] != value
    ]
    return [*differences, *_tz_differences(fields, schedule.zone)] if differences else []


def _tz_differences(fields: Json, zone: Zone) -> list[Difference]:
    """Return how the recorded tz database differs. A zone with a fixed offset is the same in all of them."""
    if zone.fixed is not None or fields.get("tz_fingerprint", zone.fingerprint) == zone.fingerprint:
        return []
    pairs = ("tz", zone.version), ("tz_fingerprint", zone.fingerprint)
    return [Difference(key, fields.get(key), value) for key, value in pairs if fields.get(key) != value]


def _recorded_job(fields: Json, schedule: Schedule) -> Job:
    """Return the job of a record. A record without jitter needs only the schedule."""
    jitter = fields.get("jitter_ms", 0)
    if type(jitter) is not int or jitter < 0:
        raise _malformed("jitter_ms is not a number of milliseconds")
    try:
        start, end = (None if fields.get(n) is None else instant_of(fields[n]) for n in ("start_at", "end_at"))
    except (ValueError, TypeError, AttributeError):
        raise _malformed("start_at or end_at is not an instant, such as 2026-03-01T00:00:00Z") from None
    policy = replace(schedule.policy, jitter=jitter * MILLISECOND)
    return Job(fields["identity"], replace(schedule, policy=policy), start=start, end=end)


def _recorded_fields(recorded: Json | str) -> Json:
    try:
        fields = json.loads(recorded) if isinstance(recorded, str) else recorded
    except (ValueError, RecursionError):
        raise _malformed("not valid JSON") from None
    if not isinstance(fields, dict):
        raise _malformed("not a JSON object")
    for key in INPUT_FIELDS:
        if not isinstance(fields.get(key), str):
            raise _malformed(f"field {key} is missing or not a string")
    for key in RESULT_FIELDS:
        if key not in fields:
            raise _malformed(f"field {key} is missing")
    return fields


def _malformed(reason: str) -> InvalidInput:
    return InvalidInput(
        "NOT_A_DECISION", f"not a recorded decision: {reason}", hint="use the output of kron next or kron explain"
    )


def _write_nanoseconds(nanoseconds: int) -> str:
    return rfc3339(*divmod(nanoseconds, SECOND))
