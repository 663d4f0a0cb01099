"""Tasks: functions that are registered once by name, for jobs that are created at run time.

A job of a task is a row: its arguments are JSON in the payload of the job, so that any process that registers the task
can run it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kron.apps.embedded.child_process import check_process_call
from kron.apps.embedded.declared import (
    SCHEME,
    Declared,
    check_arguments,
    check_callable,
    check_process_function,
    job_name_of,
)
from kron.apps.embedded.job_schedule import check_schedule, read_created_schedule
from kron.apps.embedded.options import ExecutorName, JobOptions, check_executor
from kron.errors import InvalidInput, UsageError, clip, did_you_mean
from kron.language.source import source_of
from kron.timing.job import Job
from kron.timing.labels import labels_of
from kron.timing.payload import payload_text


@dataclass(frozen=True, slots=True)
class Task:
    """A function with the name under which jobs refer to it."""

    name: str
    function: Callable[..., Any]
    process: bool = False  # whether the function is called in a child process


@dataclass(frozen=True, slots=True)
class TaskCall:
    """Arguments of a call of a task, and the labels of its job."""

    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None


def task_of(function: Callable[..., Any], name: str | None, executor: ExecutorName | None = None) -> Task:
    """Return the task of a function; without a name, under the name of the function."""
    if isinstance(function, str):
        hint = f'write @s.task(name="{clip(function)}") above the function'
        raise UsageError("NOT_CALLABLE", f"{clip(function)!r} is not a function", hint=hint)
    check_callable(function)
    check_executor(executor)
    task = Task(job_name_of(function, name), function, executor == "process")
    if task.process:
        check_process_function(function, task.name)
        check_process_call(function, task.name, (), {})
    return task


def find_task(tasks: Mapping[str, Task], task: Callable[..., Any] | str) -> Task:
    """Return a registered task by its name or its function.

    Raises:
        UsageError: No such task is registered.
    """
    found = tasks.get(task) if isinstance(task, str) else None
    found = found or next((each for each in tasks.values() if each.function is task), None)
    if found is None:
        name = task if isinstance(task, str) else getattr(task, "__name__", clip(repr(task)))
        hint = did_you_mean(name, list(tasks), "register the function with @s.task before you create jobs of it")
        raise UsageError("UNKNOWN_TASK", f"{clip(name)!r} is not a registered task", hint=hint)
    return found


def job_of_task(name: str, task: Task, text: str | None, options: JobOptions, call: TaskCall) -> Job:
    """Return the job of a task. Its arguments must be JSON, and the function must accept them."""
    job_name_of(task.function, name)
    check_schedule(text, options, name)
    kwargs = {} if call.kwargs is None else call.kwargs
    check_arguments(task.function, name, call.args, kwargs)
    payload = _payload(name, {"args": list(call.args), "kwargs": dict(kwargs)})
    reading = read_created_schedule(text, name, options)
    source = source_of(reading.text, reading.dialect, reading.schedule)
    labels = labels_of({} if call.labels is None else call.labels)
    target = f"{SCHEME}:{task.name}"
    return Job(name, reading.schedule, name=name, target=target, source=source, payload=payload, labels=labels)


def _payload(name: str, call: Mapping[str, Any]) -> str:
    """Return the arguments of a job as JSON."""
    try:
        return payload_text(call)
    except InvalidInput as error:
        reason = error.message.removeprefix("invalid field payload: ")
        message = f"the arguments of job {clip(name)!r} are not a valid payload: {reason}"
        hint = "use lists, dicts, strings, finite numbers, True, False and None, such as when.isoformat()"
        hint = hint if "not JSON" in reason else error.hint
        raise InvalidInput("BAD_FIELD", message, hint=hint, details=error.details) from None


def declared_of(task: Task, job: Job) -> Declared:
    """Return a job of a task as a declared job, with the arguments of its payload.

    Raises:
        UsageError: The payload does not hold arguments that the function accepts.
    """
    call = json.loads(job.payload or "{}")
    args, kwargs = call.get("args", []), call.get("kwargs", {})
    check_arguments(task.function, job.name, args, kwargs, stored=True)
    return Declared(job.name, job, task.function, tuple(args), kwargs, process=task.process)
