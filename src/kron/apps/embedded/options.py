"""Options of a job: how its text is read, and its policy. An invalid option is rejected with the allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict, TypeVar, cast
from zoneinfo import ZoneInfo

from kron.engine.settings import Settings
from kron.errors import InvalidSchedule, UsageError, clip, did_you_mean
from kron.language.dialect import DialectName
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.timing.schedule.policy import APPLICATION, OVERLAP_NAMES, Catchup, Overlap, Policy, WorkerLossPolicy

Choice = TypeVar("Choice", Overlap, Catchup)
_CATCHUPS = {catchup.value: catchup for catchup in Catchup}
_DURATION_AXES = {  # by option
    "deadline": "deadline",
    "retry_delay": "retry_after",
    "retry_max_delay": "retry_max_delay",
    "timeout": "timeout",
}
_COUNT_RANGES = {  # by option, which has the name of its axis
    "overlap_limit": (1, 1_000_000),
    "retry_attempts": (0, 1_000_000),
    "retry_factor": (1, 100),
    "retry_jitter": (0, 100),
}
_RETRY_OPTIONS = ("retry_attempts", "retry_factor", "retry_max_delay", "retry_jitter")
Duration = str | timedelta
OverlapName = Literal[
    "skip", "allow", "queue", "coalesce", "replace",
    "Skip", "AllowAll", "BufferAll", "BufferOne", "CancelOther", "TerminateOther",
]  # fmt: skip


class CronOptions(TypedDict, total=False):
    """Options of `Scheduler.cron` and `kron`, in addition to schedule, name and arguments.

    Durations are strings such as `90s`, or timedeltas. The type exists for the keyword arguments of these methods: the
    definition that they make is a `Job`.
    """

    timezone: str | ZoneInfo | None
    dst: str | None
    overlap: OverlapName | None
    overlap_limit: int | None  # active runs under overlap="allow"
    catchup: Literal["latest", "none", "all", "spread", "by-deadline"] | None
    deadline: Duration | None
    retry_delay: Duration | None
    retry_attempts: int | None  # retries, not counting the first run; None: no limit
    retry_factor: int | None
    retry_max_delay: Duration | None
    retry_jitter: int | None  # percent
    timeout: Duration | None
    restart_lost: bool | None  # None: only if it is safe
    transaction: bool


class JobOptions(CronOptions, total=False):
    """Options of `Scheduler.job` and `add`: those of `cron`, the dialect of the text, or what stands for a text.

    `every` is an interval of elapsed time, counted from 1970-01-01T00:00Z. `at` is one datetime or several; one
    without a zone is a wall-clock time in `timezone`.
    """

    dialect: DialectName
    every: Duration | None
    at: datetime | Sequence[datetime] | None


OPTION_NAMES = tuple(JobOptions.__annotations__)
_FOREIGN_OPTIONS = {  # option names of other schedulers, and what to use here
    "coalesce": 'use catchup="latest", which is the default',
    "executor": "remove it: plain functions run in the threads of the scheduler, Scheduler(threads=32)",
    "hours": 'use every="2h", or a sentence: @s.job("every 2 hours")',
    "id": 'use name="..."',
    "jitter": 'use a window: @s.kron("0 14 * * * @win(around,4m)")',
    "jobstore": "remove it: the store is that of the scheduler, Scheduler(url)",
    "max_instances": 'use overlap="allow", overlap_limit=3; one run at a time is the default',
    "max_retries": 'use retry_delay="30s", retry_attempts=3',
    "minutes": 'use every="10m", or a sentence: @s.job("every 10 minutes")',
    "misfire_grace_time": 'use deadline="10m"',
    "next_run_time": "use await s.trigger(name) to run a job now",
    "replace_existing": "remove it: a stored job of the same name is always replaced",
    "run_date": "use at=datetime(2026, 12, 1, 9)",
    "seconds": 'use every="10s"',
    "trigger": 'use a string as the schedule: @s.cron("0 9 * * 1-5")',
    "tz": 'use timezone="Europe/Paris"',
    "zone": 'use timezone="Europe/Paris"',
}


def read_options(options: Mapping[str, Any]) -> JobOptions:
    """Return the given options. Raise an error for the first invalid one."""
    for name in options:
        if name not in OPTION_NAMES:
            hint = _FOREIGN_OPTIONS.get(name) or did_you_mean(
                name, OPTION_NAMES, f"use one of {', '.join(OPTION_NAMES)}"
            )
            raise UsageError("UNKNOWN_OPTION", f"unknown job option {clip(name)!r}", hint=hint)
    zone = options.get("timezone")
    if zone == "":
        raise _bad_option("timezone", zone, 'use the name of a time zone: timezone="Europe/Paris", or omit it for UTC')
    if zone is not None and not isinstance(zone, str) and not (isinstance(zone, ZoneInfo) and zone.key):
        raise _bad_option("timezone", zone, 'use the name of a time zone: timezone="Europe/Paris"')
    for name in ("restart_lost", "transaction"):
        if not isinstance(options.get(name), bool | None):
            raise _bad_option(name, options[name], f"use {name}=True or {name}=False")
    return cast(JobOptions, dict(options))


def zone_name(options: JobOptions) -> str:
    """Return the name of the given time zone; empty without one."""
    zone = options.get("timezone")
    return zone.key if isinstance(zone, ZoneInfo) else zone or ""


def policy_of(options: JobOptions) -> Policy:
    """Return the embedded policy with the options applied. The policy in the schedule text overrides it."""
    policy = replace(APPLICATION, **_durations(options), **_counts(options))
    overlap, catchup = options.get("overlap"), options.get("catchup")
    if overlap is not None:
        policy = replace(policy, overlap=_choice_of(OVERLAP_NAMES, overlap, "overlap"))
    if catchup is not None:
        policy = replace(policy, catchup=_choice_of(_CATCHUPS, catchup, "catchup"), catchup_limit=100)
    _check_combination(policy, options)
    restart = options.get("restart_lost")
    if restart is None:
        restart = options.get("transaction")  # a crash left no effects
    return replace(policy, on_worker_loss=WorkerLossPolicy.RESTART) if restart else policy


def _durations(options: JobOptions) -> dict[str, Any]:
    """Return the axes that are durations. A timeout of 0 is rejected: every run would time out."""
    given = {axis: options.get(name) for name, axis in _DURATION_AXES.items()}
    values = {
        axis: nanoseconds(cast(Duration, given[axis]), name)
        for name, axis in _DURATION_AXES.items()
        if given[axis] is not None
    }
    if values.get("timeout") == 0:
        raise _bad_option("timeout", options["timeout"], 'use a duration longer than 0: timeout="10m"')
    return values


def _counts(options: JobOptions) -> dict[str, Any]:
    """Return the axes that are numbers, each within its range."""
    values = {name: options.get(name) for name in _COUNT_RANGES if options.get(name) is not None}
    for name, value in values.items():
        low, high = _COUNT_RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _bad_option(name, value, f"use an integer from {low} to {high:,}")
    return values


def _check_combination(policy: Policy, options: JobOptions) -> None:
    """Reject an option that has no effect without another one."""
    if policy.overlap_limit is not None and policy.overlap is not Overlap.ALLOW:
        hint = 'add overlap="allow", or remove overlap_limit'
        raise UsageError("BAD_OPTION", 'overlap_limit limits overlap="allow" only', hint=hint)
    retry_names = [name for name in _RETRY_OPTIONS if options.get(name) is not None]
    if retry_names and policy.retry_after is None:
        message = f"{retry_names[0]} has no effect: without retry_delay, a failed run does not run again"
        raise UsageError("BAD_OPTION", message, hint='add retry_delay="30s"')


def check_arguments(
    threads: object, shutdown_timeout: object, retention: object, on_event: object, settings: object
) -> None:
    """Reject invalid arguments of a scheduler."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise _bad_option("threads", threads, "use an integer of at least 1")
    seconds = shutdown_timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise _bad_option("shutdown_timeout", seconds, "use a number of seconds of at least 0")
    if (
        isinstance(retention, bool)
        or not isinstance(retention, int | None)
        or (retention is not None and retention < 1)
    ):
        raise _bad_option("retention", retention, "use an integer of at least 1 (days), or None to keep everything")
    if not callable(on_event):
        raise _bad_option("on_event", on_event, "use a function that takes an event")
    if not isinstance(settings, Settings):
        raise _bad_option("settings", settings, "use a kron.engine.settings.Settings")


def nanoseconds(duration: Duration, option: str) -> int:
    """Return a duration in nanoseconds; it must not be negative."""
    if isinstance(duration, timedelta):
        if duration < timedelta(0):
            raise InvalidSchedule("BAD_DURATION", f"{duration} is negative", hint="use a duration of at least 0")
        return duration // timedelta(microseconds=1) * 1_000
    if not isinstance(duration, str):
        unit = f'"{duration}s"' if isinstance(duration, int) and not isinstance(duration, bool) else '"10m"'
        raise _bad_option(option, duration, f"use a string with a unit, {option}={unit}, or a timedelta")
    try:
        return read_duration(duration)
    except Fault as fault:
        raise fault.within(duration) from None


def _choice_of(choices: Mapping[str, Choice], value: object, option: str) -> Choice:
    if isinstance(value, str) and value in choices:
        return choices[value]
    own_names = dict.fromkeys(choices.values())  # without the names of other schedulers
    hint = f"use one of {', '.join(own_names)}"
    raise _bad_option(option, value, did_you_mean(value, own_names, hint) if isinstance(value, str) else hint)


def _bad_option(option: str, value: object, hint: str) -> UsageError:
    value_text = repr(clip(value)) if isinstance(value, str) else clip(repr(value))
    return UsageError("BAD_OPTION", f"{option} cannot be {value_text}", hint=hint)
