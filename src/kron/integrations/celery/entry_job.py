"""Jobs of beat entries: what an entry publishes is the payload, so that every beat can publish every entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from celery.schedules import crontab

from kron.errors import InvalidInput, InvalidSchedule, KronError, UsageError
from kron.integrations.celery.schedule_text import DIALECT, schedule_text
from kron.integrations.celery.settings import BeatSettings
from kron.language.options import Options
from kron.language.reading import Reading, read, zone_of
from kron.language.source import source_of
from kron.timing.decision import checked_identity
from kron.timing.job import Job
from kron.timing.payload import payload_text
from kron.timing.schedule.cron import possible
from kron.timing.schedule.policy import MINUTE, SECOND, SERVICE, Catchup, Overlap, Policy

LAUNCH_FOR = 60 * MINUTE  # how long a message is retried while the broker is down
RESERVED_OPTIONS = ("task_id", "producer", "connection", "publisher")  # the key is the task id; Kron has connections
POLICY = replace(SERVICE, overlap=Overlap.ALLOW, launch_for=LAUNCH_FOR)


class Message(NamedTuple):
    """What an entry publishes: the name of a task, its arguments and the options of `apply_async`."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    options: dict[str, Any]


def job_of(entry: Any, settings: BeatSettings) -> Job:
    """Return the job of a beat entry.

    Args:
        entry: A `ScheduleEntry` of Celery.
        settings: Settings of the Celery application.

    Raises:
        InvalidSchedule: The entry has a schedule that Kron cannot evaluate.
        UsageError: The entry has a name, arguments or options that Kron cannot store.
    """
    name, identity = str(entry.name), f"{settings.prefix}{entry.name}"
    try:
        checked_identity(identity)
    except ValueError as error:
        raise UsageError("BAD_NAME", f"entry {name!r} has no usable name: {error}", hint="rename the entry") from None
    payload = payload_text(_checked_message(entry)._asdict())
    reading = _reading(entry, identity, settings)
    source = source_of(reading.text, reading.dialect, reading.schedule)
    target = f"{settings.scheme}:{entry.task}"
    return Job(identity, reading.schedule, name=name, target=target, payload=payload, source=source)


def message_of(job: Job) -> Message:
    """Return what a job publishes."""
    return Message(**json.loads(job.payload or "{}"))


def _reading(entry: Any, identity: str, settings: BeatSettings) -> Reading:
    """Return the schedule of an entry. An interval without `relative` depends on no time zone."""
    text = schedule_text(entry.schedule, entry.name, settings.zone)
    zone, policy = zone_of(settings.zone), _policy(entry, settings)
    try:
        reading = read(text, DIALECT, Options(zone, policy, identity=identity))
    except KronError as error:
        error.message = f"entry {entry.name!r}: {error.message}"
        raise
    if not possible(reading.schedule.cron):
        message = f"entry {entry.name!r} never runs: no month has such a day"
        raise InvalidSchedule("NEVER", message, hint="choose a day that exists")
    return reading


def _policy(entry: Any, settings: BeatSettings) -> Policy:
    limit = 1 if settings.catchup is Catchup.LATEST else POLICY.catchup_limit
    has_deadline = settings.crontab_deadline is not None and isinstance(entry.schedule, crontab)
    deadline = int((settings.crontab_deadline or 0) * SECOND) if has_deadline else None
    return replace(POLICY, catchup=settings.catchup, catchup_limit=limit, deadline=deadline)


def _checked_message(entry: Any) -> Message:
    """Return what an entry publishes, as JSON values."""
    options = dict(entry.options)
    for name in RESERVED_OPTIONS:
        if name in options:
            message = f"entry {entry.name!r} has the option {name}, which Kron sets"
            raise UsageError("BAD_OPTION", message, hint=f"remove {name} from its options")
    if isinstance(options.get("expires"), datetime):
        options["expires"] = options["expires"].isoformat()
    fields = {"args": list(entry.args or ()), "kwargs": entry.kwargs, "options": options}
    plain = {field: _checked_field(entry.name, field, value) for field, value in fields.items()}
    return Message(str(entry.task), plain["args"], plain["kwargs"], plain["options"])


def _checked_field(entry_name: str, field: str, value: Any) -> Any:
    try:
        return json.loads(payload_text(_plain(value)))
    except InvalidInput as error:
        reason = error.message.partition(": ")[2]
        code = "BAD_OPTION" if field == "options" else "BAD_ARGUMENTS"
        hint = "the message is stored as JSON; compute other values in the task"
        raise UsageError(code, f"{field} of entry {entry_name!r} cannot be stored: {reason}", hint=hint) from None


def _plain(value: Any) -> Any:
    """Return a value with lists in place of tuples, as the JSON serializer of Celery sends them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
