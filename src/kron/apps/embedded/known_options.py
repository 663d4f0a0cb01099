"""Known options: a method rejects an unknown keyword argument, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from kron.errors import UsageError, clip, did_you_mean

Method = TypeVar("Method", bound=Callable[..., Any])

_FOREIGN_OPTIONS = {  # option names of other schedulers and of `job`, and what to use here
    "at": "use @s.job(at=...)",
    "coalesce": 'use catchup="latest", which is the default',
    "dialect": 'use @s.job("...", dialect="...")',
    "every": "use @s.job(every=...)",
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

_FOREIGN_CREATE_OPTIONS = {  # the same for `create`, which is not a decorator
    **_FOREIGN_OPTIONS,
    "executor": 'set it on the function: @s.task(executor="process")',
    "hours": 'use every="2h", or a sentence: "every 2 hours"',
    "id": "use the first argument as the name of the job",
    "jitter": 'use a window: "kron: 0 14 * * * @win(around,4m)"',
    "minutes": 'use every="10m", or a sentence: "every 10 minutes"',
    "replace_existing": "use replace=True",
    "transaction": "declare the job with @s.job(..., transaction=True): the job of a task has no transaction",
    "trigger": 'use a string as the schedule: "kron: 0 9 * * 1-5"',
}

_KEPT_OPTIONS = (  # what `reschedule` keeps
    "after_end", "args", "catchup", "coalesce", "deadline", "executor", "kwargs", "labels", "max_instances",
    "max_retries", "max_runs", "misfire_grace_time", "overlap", "overlap_limit", "pause_on_failure", "restart_lost",
    "retry_attempts", "retry_delay", "retry_factor", "retry_jitter", "retry_max_delay", "timeout", "transaction",
)  # fmt: skip
_KEPT_HINT = "remove it: reschedule changes the schedule only; to change more, use s.create(..., replace=True)"
_FOREIGN_RESCHEDULE_OPTIONS = {  # the same for `reschedule`, which keeps everything but the schedule
    **_FOREIGN_CREATE_OPTIONS,
    "replace_existing": "remove it: reschedule changes the job that has this name",
    **dict.fromkeys(_KEPT_OPTIONS, _KEPT_HINT),
}

_FOREIGN_ARGUMENTS = {  # names of arguments that other schedulers have, and what to use here
    "executors": 'use max_workers=20 here, and executor="process" for each job',
    "job_defaults": "give the options to each job, or use functools.partial(s.job, ...)",
    "jobstores": 'use one store: Scheduler("sqlite:jobs.db")',
    "timezone": 'give the time zone to each job: @s.job("daily", timezone="Europe/Paris")',
    "url": 'use the first argument: Scheduler("sqlite:jobs.db")',
}

_FOREIGN_BY_METHOD = {"create": _FOREIGN_CREATE_OPTIONS, "reschedule": _FOREIGN_RESCHEDULE_OPTIONS}


def with_known_options(method: Method) -> Method:
    """Return a method of jobs that rejects an unknown keyword argument, with the name to use instead."""
    return _checked(method, "job option", _FOREIGN_BY_METHOD.get(method.__name__, _FOREIGN_OPTIONS))


def with_known_arguments(method: Method) -> Method:
    """Return a method of a scheduler that rejects an unknown keyword argument, with the name to use instead."""
    return _checked(method, "argument of Scheduler", _FOREIGN_ARGUMENTS)


def _checked(method: Method, kind: str, foreign_names: Mapping[str, str]) -> Method:
    names = tuple(signature(method).parameters)[1:]

    @wraps(method)
    def checked(*args: Any, **options: Any) -> Any:
        for option in options:
            if option not in names:
                known = [name for name in names if name != "function"]
                hint = foreign_names.get(option) or did_you_mean(option, known, f"use one of {', '.join(known)}")
                raise UsageError("UNKNOWN_OPTION", f"unknown {kind} {clip(option)!r}", hint=hint)
        return method(*args, **options)

    return cast(Method, checked)
