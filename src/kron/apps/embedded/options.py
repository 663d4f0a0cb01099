"""Options of a job: how its text is read, and its policy. An invalid option is rejected with the allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar, cast
from zoneinfo import ZoneInfo

from kron.engine.settings import Settings
from kron.errors import InvalidSchedule, UsageError, clip, did_you_mean
from kron.language.dialect import DialectName
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.timing.schedule.policy import APPLICATION, OVERLAP_NAMES, AfterEnd, Catchup, Overlap, Policy, WorkerLossPolicy

Choice = TypeVar("Choice", Overlap, Catchup, AfterEnd)
_CATCHUPS = {catchup.value: catchup for catchup in Catchup}
_AFTER_ENDS = {after_end.value: after_end for after_end in AfterEnd}
_DURATION_AXES = {  # by option
    "deadline": "deadline",
    "retry_delay": "retry_after",
    "retry_max_delay": "retry_max_delay",
    "timeout": "timeout",
}
_COUNT_RANGES = {  # by option, which has the name of its axis
    "overlap_limit": (1, 1_000_000),
    "max_runs": (1, 1_000_000),
    "pause_on_failure": (1, 1_000_000),
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
ExecutorName = Literal["thread", "process"]
CatchupName = Literal["latest", "none", "all", "spread", "by-deadline"]
AfterEndName = Literal["keep", "delete"]


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Options of a job: how its text is read, what stands for a text, and its policy.

    Durations are strings such as `90s`, or timedeltas. The definition that the options make is a `Job`.

    Attributes:
        timezone: Time zone in which the schedule is evaluated; None for UTC.
        dst: Rule for clock changes, such as `once` or `wall`; None for the rule of the text.
        overlap: What to do while the previous run is active; None for `skip`.
        overlap_limit: Maximum number of active runs under `allow`; None for no limit.
        catchup: Which missed periods to run; None for `latest`.
        deadline: How late a run can start; None for no limit.
        retry_delay: Delay before a failed run is retried; None for no retry.
        retry_attempts: Maximum number of retries, without the first run; None for no limit.
        retry_factor: Growth of the retry delay with each retry; None for 1.
        retry_max_delay: Maximum retry delay; None for no limit.
        retry_jitter: By how many percent a retry delay can be shorter; None for 0.
        timeout: How long a run can take; None for no limit.
        max_runs: Number of scheduled runs after which the job is over; None for no limit.
        pause_on_failure: Number of failed runs in a row after which the job is paused; None for never.
        restart_lost: Whether a run whose process died runs again; None: only if it is safe.
        transaction: Whether the first argument of the function is a connection of the store.
        executor: Where a plain function is called: `thread`, or `process` for a child process; None for `thread`.
        dialect: Dialect of the text; None for `fuzzy`.
        every: Interval of elapsed time, counted from 1970-01-01T00:00Z.
        at: One datetime or several. A datetime without a zone is a wall-clock time in `timezone`.
        after_end: Whether the job is deleted after its last run; None for `keep`.
    """

    timezone: str | ZoneInfo | None = None
    dst: str | None = None
    overlap: OverlapName | None = None
    overlap_limit: int | None = None
    catchup: CatchupName | None = None
    deadline: Duration | None = None
    retry_delay: Duration | None = None
    retry_attempts: int | None = None
    retry_factor: int | None = None
    retry_max_delay: Duration | None = None
    retry_jitter: int | None = None
    timeout: Duration | None = None
    max_runs: int | None = None
    pause_on_failure: int | None = None
    restart_lost: bool | None = None
    transaction: bool = False
    executor: ExecutorName | None = None
    dialect: DialectName | None = None
    every: Duration | None = None
    at: datetime | Sequence[datetime] | None = None
    after_end: AfterEndName | None = None


def check_options(options: JobOptions) -> JobOptions:
    """Return the given options. Raise an error for the first invalid one."""
    zone: object = options.timezone
    if zone == "":
        raise _bad_option("timezone", zone, 'use the name of a time zone: timezone="Europe/Paris", or omit it for UTC')
    if zone is not None and not isinstance(zone, str) and not (isinstance(zone, ZoneInfo) and zone.key):
        raise _bad_option("timezone", zone, 'use the name of a time zone: timezone="Europe/Paris"')
    flags: dict[str, object] = {"restart_lost": options.restart_lost, "transaction": options.transaction}
    for name, flag in flags.items():
        if not isinstance(flag, bool | None):
            raise _bad_option(name, flag, f"use {name}=True or {name}=False")
    check_executor(options.executor)
    return options


def check_executor(executor: object) -> None:
    """Reject an executor that does not exist."""
    if executor not in (None, "thread", "process"):
        raise _bad_option("executor", executor, 'use executor="thread" or executor="process"')


def zone_name(options: JobOptions) -> str:
    """Return the name of the given time zone; empty without one."""
    zone = options.timezone
    return zone.key if isinstance(zone, ZoneInfo) else zone or ""


def policy_of(options: JobOptions) -> Policy:
    """Return the embedded policy with the options applied. The policy in the schedule text overrides it."""
    policy = replace(APPLICATION, **_durations(options), **_counts(options))
    overlap, catchup = options.overlap, options.catchup
    if overlap is not None:
        policy = replace(policy, overlap=_choice_of(OVERLAP_NAMES, overlap, "overlap"))
    if catchup is not None:
        policy = replace(policy, catchup=_choice_of(_CATCHUPS, catchup, "catchup"), catchup_limit=100)
    if options.after_end is not None:
        policy = replace(policy, after_end=_choice_of(_AFTER_ENDS, options.after_end, "after_end"))
    _check_combination(policy, options)
    restart = options.restart_lost
    if restart is None:
        restart = options.transaction  # a crash left no effects
    return replace(policy, on_worker_loss=WorkerLossPolicy.RESTART) if restart else policy


def _durations(options: JobOptions) -> dict[str, Any]:
    """Return the axes that are durations. A timeout of 0 is rejected: every run would time out."""
    given = {axis: getattr(options, name) for name, axis in _DURATION_AXES.items()}
    values = {
        axis: nanoseconds(cast(Duration, given[axis]), name)
        for name, axis in _DURATION_AXES.items()
        if given[axis] is not None
    }
    if values.get("timeout") == 0:
        raise _bad_option("timeout", options.timeout, 'use a duration longer than 0: timeout="10m"')
    return values


def _counts(options: JobOptions) -> dict[str, Any]:
    """Return the axes that are numbers, each within its range."""
    values = {name: getattr(options, name) for name in _COUNT_RANGES if getattr(options, name) is not None}
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
    retry_names = [name for name in _RETRY_OPTIONS if getattr(options, name) is not None]
    if retry_names and policy.retry_after is None:
        message = f"{retry_names[0]} has no effect: without retry_delay, a failed run does not run again"
        raise UsageError("BAD_OPTION", message, hint='add retry_delay="30s"')


def check_arguments(
    max_workers: object,
    max_coroutines: object,
    shutdown_timeout: object,
    retention: object,
    on_event: object,
    settings: object,
) -> None:
    """Reject invalid arguments of a scheduler."""
    for name, limit in (("max_workers", max_workers), ("max_coroutines", max_coroutines)):
        is_absent = limit is None and name == "max_coroutines"
        if not is_absent and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise _bad_option(name, limit, "use an integer of at least 1")
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


def check_calls(run_jobs: object, wrap: object) -> None:
    """Reject invalid arguments that say whether and how a scheduler calls functions."""
    if not isinstance(run_jobs, bool):
        raise _bad_option("run_jobs", run_jobs, "use run_jobs=True or run_jobs=False")
    if wrap is not None and not callable(wrap):
        raise _bad_option("wrap", wrap, "use a decorator: a function that takes a function and returns one")


def check_limit(limit: object) -> None:
    """Reject a page size that is not an integer; the registrar checks its range."""
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise _bad_option("limit", limit, "use an integer from 1 to 1,000")


def nanoseconds(duration: Duration, option: str) -> int:
    """Return a duration in nanoseconds; it must not be negative."""
    if isinstance(duration, timedelta):
        if duration < timedelta(0):
            message = f"{option} cannot be {duration.total_seconds():g} s, which is negative"
            raise InvalidSchedule("BAD_DURATION", message, hint="use a duration of at least 0")
        return duration // timedelta(microseconds=1) * 1_000
    if not isinstance(duration, str):
        unit = f'"{duration}s"' if isinstance(duration, int) and not isinstance(duration, bool) else '"10m"'
        raise _bad_option(option, duration, f"use a string with a unit, {option}={unit}, or a timedelta")
    try:
        return read_duration(duration)
    except Fault as fault:
        raise fault.within(duration, option) from None


def _choice_of(choices: Mapping[str, Choice], value: object, option: str) -> Choice:
    if isinstance(value, str) and value in choices:
        return choices[value]
    own_names = dict.fromkeys(choices.values())  # without the names of other schedulers
    hint = f"use one of {', '.join(own_names)}"
    raise _bad_option(option, value, did_you_mean(value, own_names, hint) if isinstance(value, str) else hint)


def _bad_option(option: str, value: object, hint: str) -> UsageError:
    value_text = repr(clip(value)) if isinstance(value, str) else clip(repr(value))
    return UsageError("BAD_OPTION", f"{option} cannot be {value_text}", hint=hint)
