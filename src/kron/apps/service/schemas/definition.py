"""Conversion between definitions and jobs. The service policy is a preset; definitions and settings override it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from kron.apps.service.config import Config
from kron.apps.service.preset import preset_of
from kron.apps.service.schemas.policy_field import POLICY_FIELDS, check_policy, described_policy, given_axes
from kron.apps.service.schemas.requests import Definition, Upsert
from kron.errors import InvalidInput
from kron.language.clock_rule import with_clock_rule
from kron.language.contradiction import contradiction
from kron.language.door import HTTP
from kron.language.options import Options
from kron.language.reading import read, zone_of
from kron.language.service import seconds_first, seconds_last
from kron.language.source import names_zone, shown_source, source_of
from kron.launchers.target import check_url
from kron.launchers.webhook import webhook_of
from kron.timing.job import Job, Source, Webhook
from kron.timing.labels import labels_of
from kron.timing.payload import payload_text
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import possible
from kron.timing.schedule.policy import KRON, MILLISECOND, Policy
from kron.timing.schedule.window import INSTANT
from kron.timing.upcoming import minimum_interval
from kron.timing.zone import instant_of, rfc3339

WORKFLOW = "workflow:"
_DAY = 86_400


def of_document(request: Upsert) -> Definition:
    """Return the definition of a cron-service request body."""
    fields = request.model_dump(exclude={"schedule_id", "cron_expr"})
    return Definition(schedule=request.cron_expr, dialect="service", **fields)


def job_of(definition: Definition, identity: str, config: Config, now: int) -> tuple[Job, list[str]]:
    """Return the job of a definition and its warnings.

    Args:
        definition: Definition to convert.
        identity: Identity of the job.
        config: Settings of the service.
        now: Current time in seconds since the epoch.

    Raises:
        InvalidInput: A field is invalid; `details` names the field.
    """
    schedule, source = _parse(definition, identity, config)
    _check_zone(schedule, config)
    if schedule.policy != KRON:
        raise _bad_field(
            "schedule", "@policy is for krontab files only", "use overlap_policy, catchup_policy and deadline_ms"
        )
    reason = contradiction(schedule.constraints, now // _DAY)
    if reason:
        raise _bad_field(
            "schedule", f"@only and @avoid contradict each other: {reason}", "remove one of the constraints"
        )
    policy = _policy(definition, config)
    if policy.jitter and schedule.window != INSTANT:
        raise _bad_field("jitter_ms", "a schedule with a window cannot have jitter", "remove the jitter or the window")
    schedule = replace(schedule, policy=policy)
    start, end = _instant(definition.start_at, "start_at"), _instant(definition.end_at, "end_at")
    if start is not None and end is not None and end < start:
        raise _bad_field("end_at", "it is before start_at", "use a later time")
    target = _target(definition, config)
    payload = None if definition.payload is None else payload_text(definition.payload)
    labels, webhook = labels_of(definition.labels), _webhook(definition)
    details = ("", definition.description, None, target, start, end, source, payload, labels, webhook)
    job = Job(identity, schedule, *details)
    return job, _warnings(job, config, now)


def check_job(job: Job, config: Config, now: int) -> None:
    """Reject a job whose time zone or interval the settings do not allow.

    Raises:
        InvalidInput: `details` names the field.
    """
    _check_zone(job.schedule, config)
    _warnings(job, config, now)


def _check_zone(schedule: Schedule, config: Config) -> None:
    if config.allowed_timezones and schedule.zone.name not in config.allowed_timezones:
        raise _bad_field(
            "timezone", "time zone not allowed by the service", f"use one of {', '.join(config.allowed_timezones[:10])}"
        )


def _webhook(definition: Definition) -> Webhook | None:
    options = definition.webhook
    if options is None:
        return None
    if definition.target is None:
        raise _bad_field("webhook", "a workflow has no webhook options", "remove it, or use a target")
    return webhook_of(options.method, options.headers, options.success)


def _parse(definition: Definition, identity: str, config: Config) -> tuple[Schedule, Source]:
    """Return the schedule of a definition, and the text that its author wrote."""
    seconds: Any = config.cron_seconds_position
    options = Options(zone_of(definition.timezone or "UTC"), seconds=seconds, identity=identity)
    given_dialect = definition.dialect if "dialect" in definition.model_fields_set else None
    reading = read(definition.schedule, given_dialect, options, default=definition.dialect, door=HTTP)
    if definition.timezone and names_zone(reading.text, reading.dialect):
        raise _bad_field("timezone", "the schedule already names a time zone", "remove one of the two")
    if reading.dialect == "service" and seconds == "last":
        reading = reading._replace(text=seconds_first(reading.text))
    if definition.dst is not None:
        reading = with_clock_rule(reading, definition.dst)
    return reading.schedule, source_of(reading.text, reading.dialect, reading.schedule)


def described(job: Job, config: Config) -> dict[str, Any]:
    """Return the definition of a job, by field names of `Definition`. `job_of` would read it as the same job."""
    source = configured_source(job, config)
    return {
        "schedule": source.text,
        "dialect": source.dialect,
        "timezone": source.zone,
        **target_fields(job.target),
        "description": job.description,
        "start_at": None if job.start is None else rfc3339(job.start),
        "end_at": None if job.end is None else rfc3339(job.end),
        **described_policy(job.schedule.policy),
        "payload": None if job.payload is None else json.loads(job.payload),
        "labels": dict(job.labels),
        "webhook": _described_webhook(job.webhook),
    }


def _described_webhook(webhook: Webhook | None) -> dict[str, Any] | None:
    if webhook is None:
        return None
    return {"method": webhook.method, "headers": dict(webhook.headers), "success": webhook.success}


def stated(job: Job, config: Config) -> dict[str, Any]:
    """Return the definition of a job without the values that come from the settings."""
    policy = job.schedule.policy
    defaulted = [name for name, (axis, _) in POLICY_FIELDS.items() if policy.preset and axis not in policy.given]
    return {name: value for name, value in described(job, config).items() if name not in defaulted}


def configured_source(job: Job, config: Config) -> Source:
    """Return the source text of a job, with the seconds where this service expects them."""
    source = shown_source(job)
    seconds_at_end = source.dialect == "service" and config.cron_seconds_position == "last"
    return replace(source, text=seconds_last(source.text)) if seconds_at_end else source


def workflow_target(workflow_id: str, version: int, user_id: str) -> str:
    """Return the target of a workflow: `workflow:id?version=3&user=u1`."""
    return f"{WORKFLOW}{quote(workflow_id, safe='')}?{urlencode({'version': version, 'user': user_id})}"


def target_fields(target: str) -> dict[str, Any]:
    """Return the parts of a target, by field names of `Definition`."""
    if not target.startswith(WORKFLOW):
        return {"target": target or None, "workflow_id": None, "version": None, "user_id": None}
    name, _, query = target.removeprefix(WORKFLOW).partition("?")
    parameters = dict(parse_qsl(query))
    version = int(parameters["version"])
    return {"target": None, "workflow_id": unquote(name), "version": version, "user_id": parameters["user"]}


def _policy(definition: Definition, config: Config) -> Policy:
    """Return the service preset with the author's values. The other values follow the current settings."""
    values = given_axes(definition)
    policy = replace(preset_of(config), **values, given=tuple(sorted(values)))
    check_policy(policy)
    return policy


def _target(definition: Definition, config: Config) -> str:
    workflow = (definition.workflow_id, definition.version, definition.user_id)
    if definition.target is not None:
        if any(value is not None for value in workflow):
            raise _bad_field(
                "target", "it excludes a workflow", "use either a target, or workflow_id, version and user_id"
            )
        if not config.webhook_secret:
            raise _bad_field("target", "the service has no secret for signing webhooks", "set KRON_WEBHOOK_SECRET")
        return check_url(definition.target, plain=config.webhook_allow_plain_http)
    if definition.workflow_id is None or definition.version is None or definition.user_id is None:
        raise _bad_field("target", "it is missing", "use either a target, or workflow_id, version and user_id")
    return workflow_target(definition.workflow_id, definition.version, definition.user_id)


def _warnings(job: Job, config: Config, now: int) -> list[str]:
    """Return warnings about likely mistakes. A schedule that runs too often is rejected."""
    interval = minimum_interval(job.schedule, max(now, job.start or now) // _DAY * _DAY)
    if interval == 0:
        is_over = possible(job.schedule.cron)
        return [f"the schedule never runs: {'its last period has passed' if is_over else 'no month has such a day'}"]
    if interval is not None and interval * 1000 < config.min_interval_ms:
        raise _bad_field(
            "schedule", f"it runs every {interval} s", f"use an interval of at least {config.min_interval_ms} ms"
        )
    if job.end is not None and job.end < now:
        return [f"the schedule never runs: end_at {rfc3339(job.end)} is in the past"]
    if interval is None:
        return []
    warnings = []
    if interval < 60:
        warnings.append(f"the schedule runs every {interval} s, more than 60 times an hour")
    if job.schedule.policy.jitter // MILLISECOND > interval * 500:
        warnings.append("the jitter exceeds half the interval, so runs can start out of order")
    return warnings


def _instant(text: str | None, field: str) -> int | None:
    try:
        return None if text is None else instant_of(text)
    except ValueError as error:
        raise _bad_field(field, str(error), "use an instant such as 2026-03-01T00:00:00Z") from None


def _bad_field(field: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"invalid field {field}: {reason}", hint=hint, details={"field": field})
