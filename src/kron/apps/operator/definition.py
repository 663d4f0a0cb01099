"""Definition of a KronJob: its spec becomes a `Job`, or an error that says what is wrong with it.

The API server checks the schema. The operator checks all rules again, because an old server checks only a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kron.apps.operator.schema import (
    DEADLINE_RULE,
    DURATION,
    END_RULE,
    LINE_RULE,
    MAX_WINDOW,
    NAME_RULE,
    SCHEDULE_FIELDS,
    TIME,
    TIME_RULE,
    WINDOW_RULE,
    root_schema,
)
from kron.apps.operator.schema_check import problem_of
from kron.errors import InvalidInput, clip, did_you_mean
from kron.kube.kind import Place
from kron.kube.names import MAX_NAME_LENGTH
from kron.language.dialect import split_name
from kron.language.door import FORM
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.language.manifest import DIALECT, define
from kron.language.options import Options
from kron.language.reading import read
from kron.language.source import source_of
from kron.timing.job import Job
from kron.timing.schedule.policy import MINUTE, Catchup, Overlap, Policy, Resume, WorkerLossPolicy
from kron.timing.zone import instant_of

SCHEME = "kronjob"  # of the targets of KronJobs
RUN_LEASE = 20 * MINUTE  # two resyncs of the mirror of Jobs: a Job that still runs is seen by then
_OVERLAPS = {"queue": Overlap.QUEUE, "coalesce": Overlap.COALESCE}  # policies that @policy does not have
_CATCHUPS = {each.value: each for each in (Catchup.BY_DEADLINE, Catchup.LATEST, Catchup.NONE)}
_FIELDS = {  # names in a spec, for each object that Kron reads
    "": (
        *("schedule", *SCHEDULE_FIELDS, "policy", "startTime", "endTime"),
        *("successfulJobsHistoryLimit", "failedJobsHistoryLimit", "jobTemplate"),
    ),
    "window": ("mode", "duration"),
    "distribution": ("name", "params"),
    "seed": ("strategy", "salt"),
    "constraints": ("only", "avoid"),
    "policy": ("concurrency", "deadline", "suspend", "catchup"),
}
_FIRST_SECOND, _LAST_SECOND = instant_of("0001-01-01T00:00:00Z"), instant_of("9999-12-31T23:59:59Z")  # of CEL
_SCHEMA = root_schema()["properties"]["spec"]
Spec = Mapping[str, Any]


class OperatorDefaults(NamedTuple):
    """What the operator's options set for all KronJobs."""

    identity_prefix: str = ""  # begins every identity, where clusters share a store
    deadline: int = 0  # nanoseconds, for a KronJob that names none
    scheme: str = SCHEME  # of the targets; a dry run has another one


def identity_of(place: Place, defaults: OperatorDefaults) -> str:
    """Return the identity of a KronJob. It has no uid, so that a KronJob that is created again keeps its times."""
    return f"{defaults.identity_prefix}{place.namespace}/{place.name}"


def job_of_kronjob(place: Place, spec: Spec, defaults: OperatorDefaults) -> Job:
    """Return the definition of a KronJob.

    Raises:
        InvalidInput: A field is unknown, missing or invalid.
        LanguageError: The text of a field is invalid.
    """
    if len(place.name) > MAX_NAME_LENGTH:
        raise _bad_field("metadata.name", NAME_RULE, "use a shorter name")
    job = _job_of(identity_of(place, defaults), fields_of(spec), defaults)
    start, end = _instant(spec, "startTime"), _instant(spec, "endTime")
    if start is not None and end is not None and end < start:
        raise _bad_field("endTime", END_RULE, "use a later time")
    if job.schedule.window.duration > read_duration(MAX_WINDOW):
        raise _bad_field("window.duration", WINDOW_RULE, "use a shorter window")
    if "jobTemplate" not in spec or "spec" not in _mapping(spec, "jobTemplate"):
        raise InvalidInput("MISSING_FIELD", "field jobTemplate.spec is missing", hint="add the template of the Jobs")
    problem = problem_of(_SCHEMA, dict(spec))
    if problem:
        raise InvalidInput("BAD_FIELD", f"the spec is invalid: {clip(problem)}", hint="see kubectl explain kj.spec")
    schedule = replace(job.schedule, policy=_policy(job.schedule.policy, spec))
    target = f"{defaults.scheme}:{place.namespace}/{place.name}"
    return replace(job, schedule=schedule, target=target, start=start, end=end)


def fields_of(spec: Spec) -> dict[str, Any]:
    """Return the fields of a spec as `define` takes them, without the identity.

    `queue`, `coalesce` and the catch-up policy are left out, because `@policy` does not have them.
    """
    parts = {name: _mapping(spec, name) for name in _FIELDS if name}
    _check_names("", spec)
    _check_durations(parts)
    text = spec.get("schedule")
    fields = SCHEDULE_FIELDS if _is_line(text) else ()
    if any(spec.get(field) is not None for field in (*fields, *(("policy",) if _has_policy(text) else ()))):
        raise _bad_field("schedule", LINE_RULE, "remove the modifiers or the fields")
    window, seed, distribution = parts["window"], parts["seed"], parts["distribution"]
    constraints = [(name, parts["constraints"].get(name)) for name in _FIELDS["constraints"]]  # in this order always
    policy = {name: parts["policy"][name] for name in _FIELDS["policy"] if name in parts["policy"]}  # in this order
    policy.pop("catchup", None)
    if str(policy.get("concurrency")) in _OVERLAPS:
        del policy["concurrency"]
    return {
        "schedule": text,
        "timezone": spec.get("timezone"),
        "window_mode": None if window.get("duration") is None else window.get("mode"),  # a default alone is no window
        "window_duration": window.get("duration"),
        "distribution": _distribution(distribution) if distribution else None,
        "seed_strategy": seed.get("strategy"),
        "salt": seed.get("salt"),
        "constraints": {name: _clauses(name, value) for name, value in constraints if value is not None},
        "policy": policy,
    }


def _job_of(identity: str, fields: Mapping[str, Any], defaults: OperatorDefaults) -> Job:
    """Return the job of the fields of a spec. Its schedule can be a line with modifiers, which `define` does not take.

    Such a line stands alone, but for the policy. A deadline in the line has precedence over the default.
    """
    text, is_line = fields["schedule"], _is_line(fields["schedule"])
    job = define({"identity": identity, **fields, **({"schedule": "* * * * *"} if is_line else {})})
    policy = job.schedule.policy
    if fields["policy"].get("deadline") is None:
        policy = replace(policy, deadline=defaults.deadline)
    if not is_line:
        return replace(job, schedule=replace(job.schedule, policy=policy))
    reading = read(text, None if split_name(text) else DIALECT, Options(policy=policy, identity=identity), door=FORM)
    return Job(identity, reading.schedule, source=source_of(reading.text, reading.dialect, reading.schedule))


def _is_line(text: object) -> bool:
    return isinstance(text, str) and "@" in text


def _has_policy(text: object) -> bool:
    return isinstance(text, str) and "@policy(" in text


def _distribution(fields: Spec) -> dict[str, Any]:
    if fields.get("name") is None:
        raise InvalidInput("MISSING_FIELD", "field distribution.name is missing", hint="add distribution.name")
    parameters = dict(sorted(_mapping(fields, "params").items()))  # in this order always
    if "name" in parameters:
        raise _bad_field("distribution.params", "name is not a parameter", "write distribution.name")
    return {**parameters, "name": fields["name"]}


def _clauses(name: str, value: object) -> str:
    """Return the body of a constraint modifier: its clauses, separated by semicolons."""
    if not isinstance(value, list) or not all(isinstance(clause, str) and clause for clause in value):
        raise _bad_field(f"constraints.{name}", "the value is not a list of clauses", "use a list such as [hours=8-18]")
    return ";".join(value)


def _policy(policy: Policy, spec: Spec) -> Policy:
    """Return the policy of a KronJob.

    A launch whose worker was lost is delivered again: the name of the Job excludes a second one. The end of a
    suspension drops the periods in it, as an edit does; a pause leaves them to their deadlines.
    """
    fields = _mapping(spec, "policy")
    catchup = fields.get("catchup") or Catchup.BY_DEADLINE.value
    if not isinstance(catchup, str) or catchup not in _CATCHUPS:
        raise _bad_field("policy.catchup", f"{clip(str(catchup))!r} is unknown", f"use one of {', '.join(_CATCHUPS)}")
    return replace(
        policy,
        overlap=_OVERLAPS.get(str(fields.get("concurrency")), policy.overlap),
        catchup=_CATCHUPS[catchup],
        on_worker_loss=WorkerLossPolicy.REDELIVER,
        resume=Resume.DROP if policy.suspend else Resume.BY_DEADLINE,
        run_lease=RUN_LEASE,
    )


def _mapping(fields: Spec, name: str) -> dict[str, Any]:
    """Return the object that a field holds, without its empty fields."""
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _bad_field(name, "the value is not a mapping", "use a mapping of names to values")
    _check_names(name, value)
    return {key: item for key, item in value.items() if item is not None}


def _check_names(where: str, fields: Spec) -> None:
    """Reject names that the schema does not have. The API server drops them, so a user would not learn of them."""
    names = _FIELDS.get(where)
    for field in fields if names else ():
        if names and field not in names:
            path = f"{where}.{field}" if where else str(field)
            hint = did_you_mean(str(field), names, f"use one of {', '.join(names)}")
            raise InvalidInput("UNKNOWN_FIELD", f"unknown field {clip(path)!r}", hint=hint)


def _instant(spec: Spec, name: str) -> int | None:
    """Return a time of the spec in seconds."""
    value = spec.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(TIME.replace("$", ""), value):
        raise _bad_field(name, f"{clip(str(value))!r} is not a time", "use a time such as 2026-03-01T00:00:00Z")
    try:
        instant = instant_of(value)
    except ValueError:
        instant = _LAST_SECOND + 1
    if not _FIRST_SECOND <= instant <= _LAST_SECOND:
        raise _bad_field(name, TIME_RULE, "use a time that exists, of the years 1 to 9999 in UTC")
    return instant


def _check_durations(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Reject durations that are too long for 64 bits, as the rules of the API server do."""
    durations = (("window", "duration", WINDOW_RULE), ("policy", "deadline", DEADLINE_RULE))
    for part, name, rule in durations:
        value = parts[part].get(name)
        if not isinstance(value, str) or not re.fullmatch(DURATION, value):
            continue  # the check of the schema tells what is wrong
        try:
            read_duration(value)
        except Fault:
            raise _bad_field(f"{part}.{name}", rule, "use a shorter duration") from None


def _bad_field(field: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"field {clip(field)} is invalid: {reason}", hint=hint)
