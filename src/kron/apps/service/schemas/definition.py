"""Conversion between definitions and jobs. The service policy is a preset; definitions and settings override it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from kron.apps.service.config import Config
from kron.apps.service.preset import CATCHUPS, preset_of
from kron.apps.service.schemas.requests import Definition, Upsert
from kron.errors import InvalidInput
from kron.language import parse
from kron.language.contradiction import contradiction
from kron.language.service import seconds_first, seconds_last
from kron.language.source import names_zone, shown_source, source_of
from kron.launchers.target import check_url
from kron.timing.job import Job, Source
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, MILLISECOND, Completion, Overlap, Policy
from kron.timing.schedule.window import INSTANT
from kron.timing.upcoming import minimum_interval
from kron.timing.zone import instant_of, rfc3339

WORKFLOW = "workflow:"
_DAY = 86_400


def of_document(asked: Upsert) -> Definition:
    """Return the definition of a cron-service request body."""
    given = asked.model_dump(exclude={"schedule_id", "cron_expr"})
    return Definition(schedule=asked.cron_expr, dialect="service", **given)


def job_of(asked: Definition, identity: str, config: Config, now: int) -> tuple[Job, list[str]]:
    """Return the job of a definition and its warnings.

    Args:
        asked: Definition to convert.
        identity: Identity of the job.
        config: Settings of the service.
        now: Current time in seconds since the epoch.

    Raises:
        InvalidInput: A field is invalid; `details` names the field.
    """
    schedule, source = _parsed(asked, identity, config)
    if config.allowed_timezones and schedule.zone.name not in config.allowed_timezones:
        raise _bad(
            "timezone", "time zone not allowed by the service", f"use one of {', '.join(config.allowed_timezones[:10])}"
        )
    if schedule.policy != KRON:
        raise _bad(
            "schedule", "@policy is for krontab files only", "use overlap_policy, catchup_policy and deadline_ms"
        )
    reason = contradiction(schedule.constraints, now // _DAY)
    if reason:
        raise _bad("schedule", f"@only and @avoid contradict each other: {reason}", "remove one of the constraints")
    policy = _policy(asked, config)
    if policy.jitter and schedule.window != INSTANT:
        raise _bad("jitter_ms", "a schedule with a window cannot have jitter", "remove the jitter or the window")
    schedule = replace(schedule, policy=policy)
    start, end = _instant(asked.start_at, "start_at"), _instant(asked.end_at, "end_at")
    if start is not None and end is not None and end < start:
        raise _bad("end_at", "it is before start_at", "use a later time")
    target = _target(asked, config)
    job = Job(identity, schedule, "", asked.description, None, target, start, end, source)
    return job, _warnings(job, config, now)


def _parsed(asked: Definition, identity: str, config: Config) -> tuple[Schedule, Source]:
    """Return the schedule of a definition, and the text that its author wrote."""
    seconds: Any = config.cron_seconds_position
    schedule = parse(
        asked.schedule, dialect=asked.dialect, timezone=asked.timezone or "UTC", seconds=seconds, identity=identity
    )
    if asked.timezone and names_zone(asked.schedule, asked.dialect):
        raise _bad("timezone", "the schedule already names a time zone", "remove one of the two")
    last = asked.dialect == "service" and seconds == "last"
    return schedule, source_of(seconds_first(asked.schedule) if last else asked.schedule, asked.dialect, schedule)


def described(job: Job, config: Config) -> dict[str, Any]:
    """Return the definition of a job, by field names of `Definition`. `job_of` would read it as the same job."""
    source, policy = configured_source(job, config), job.schedule.policy
    return {
        "schedule": source.text,
        "dialect": source.dialect,
        "timezone": source.zone,
        **whereto(job.target),
        "description": job.description,
        "start_at": None if job.start is None else rfc3339(job.start),
        "end_at": None if job.end is None else rfc3339(job.end),
        "jitter_ms": policy.jitter // MILLISECOND,
        "overlap_policy": str(policy.overlap),
        "catchup_policy": next(
            (name for name, kind in CATCHUPS.items() if kind is policy.catchup), str(policy.catchup)
        ),
        "completion": str(policy.completion),
        "deadline_ms": None if policy.deadline is None else policy.deadline // MILLISECOND,
    }


def stated(job: Job, config: Config) -> dict[str, Any]:
    """Return the definition of a job without the values that come from the settings."""
    given, optional = job.schedule.policy.given, {"overlap": "overlap_policy", "catchup": "catchup_policy"}
    optional |= {"jitter": "jitter_ms", "deadline": "deadline_ms", "completion": "completion"}
    unsaid = [name for axis, name in optional.items() if job.schedule.policy.preset and axis not in given]
    return {name: value for name, value in described(job, config).items() if name not in unsaid}


def configured_source(job: Job, config: Config) -> Source:
    """Return the source text of a job, with the seconds where this service expects them."""
    source = shown_source(job)
    last = source.dialect == "service" and config.cron_seconds_position == "last"
    return replace(source, text=seconds_last(source.text)) if last else source


def workflow_target(workflow_id: str, version: int, user_id: str) -> str:
    """Return the target of a workflow: `workflow:id?version=3&user=u1`."""
    return f"{WORKFLOW}{quote(workflow_id, safe='')}?{urlencode({'version': version, 'user': user_id})}"


def whereto(target: str) -> dict[str, Any]:
    """Return the parts of a target, by field names of `Definition`."""
    if not target.startswith(WORKFLOW):
        return {"target": target or None, "workflow_id": None, "version": None, "user_id": None}
    name, _, query = target.removeprefix(WORKFLOW).partition("?")
    given = dict(parse_qsl(query))
    version = int(given["version"])
    return {"target": None, "workflow_id": unquote(name), "version": version, "user_id": given["user"]}


def _policy(asked: Definition, config: Config) -> Policy:
    """Return the service preset with the author's values. The other values follow the current settings."""
    given = {
        "overlap": asked.overlap_policy and Overlap(asked.overlap_policy),
        "catchup": asked.catchup_policy and CATCHUPS[asked.catchup_policy],
        "completion": asked.completion and Completion(asked.completion),
        "deadline": None if asked.deadline_ms is None else asked.deadline_ms * MILLISECOND,
        "jitter": None if asked.jitter_ms is None else asked.jitter_ms * MILLISECOND,
    }
    stated: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(preset_of(config), **stated, given=tuple(sorted(stated)))


def _target(asked: Definition, config: Config) -> str:
    workflow = (asked.workflow_id, asked.version, asked.user_id)
    if asked.target is not None:
        if any(each is not None for each in workflow):
            raise _bad("target", "it excludes a workflow", "use either a target, or workflow_id, version and user_id")
        if not config.webhook_secret:
            raise _bad("target", "the service has no secret for signing webhooks", "set WEBHOOK_SECRET")
        return check_url(asked.target, plain=config.webhook_allow_plain_http)
    if asked.workflow_id is None or asked.version is None or asked.user_id is None:
        raise _bad("target", "it is missing", "use either a target, or workflow_id, version and user_id")
    return workflow_target(asked.workflow_id, asked.version, asked.user_id)


def _warnings(job: Job, config: Config, now: int) -> list[str]:
    """Return warnings about likely mistakes. A schedule that runs too often is rejected."""
    closest = minimum_interval(job.schedule, max(now, job.start or now) // _DAY * _DAY)
    if closest == 0:
        return ["the schedule never runs: no month has such a day"]
    if closest is not None and closest * 1000 < config.min_interval_ms:
        raise _bad("schedule", f"it runs every {closest} s", f"use an interval of at least {config.min_interval_ms} ms")
    if job.end is not None and job.end < now:
        return [f"the schedule never runs: end_at {rfc3339(job.end)} is in the past"]
    if closest is None:
        return []
    warnings = []
    if closest < 60:
        warnings.append(f"the schedule runs every {closest} s, more than 60 times an hour")
    if job.schedule.policy.jitter // MILLISECOND > closest * 500:
        warnings.append("the jitter exceeds half the interval, so runs can start out of order")
    return warnings


def _instant(text: str | None, field: str) -> int | None:
    try:
        return None if text is None else instant_of(text)
    except ValueError as error:
        raise _bad(field, str(error), "use an instant such as 2026-03-01T00:00:00Z") from None


def _bad(field: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"invalid field {field}: {reason}", hint=hint, details={"field": field})
