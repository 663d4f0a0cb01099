"""Declared jobs: a function with its arguments and its schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import isasyncgenfunction, iscoroutine, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any

from kron.apps.embedded.child_process import check_process_call
from kron.apps.embedded.job_schedule import check_schedule, read_schedule
from kron.apps.embedded.options import JobOptions
from kron.errors import UsageError, clip
from kron.language.source import source_of
from kron.launchers.python import plain
from kron.timing.decision import checked_identity
from kron.timing.job import Job

SCHEME = "python"
MAX_NAME_LENGTH = 500  # characters: every store can index a name of this length


@dataclass(frozen=True, slots=True)
class Declared:
    """A job that this process can run."""

    name: str
    job: Job
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    transaction: bool = False  # whether its first argument is a connection
    process: bool = False  # whether the function is called in a child process


def declare(
    function: Callable[..., Any] | str,
    text: str | None,
    options: JobOptions,
    name: str | None,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
) -> Declared:
    """Return the job of a function, or of `package.module:function`, on a schedule."""
    kwargs = {} if kwargs is None else kwargs
    target = import_function(function) if isinstance(function, str) else function
    check_callable(target)
    job_name = job_name_of(target, name)
    check_schedule(text, options, job_name)
    reading, transaction = read_schedule(text, job_name, options), bool(options.transaction)
    source = source_of(reading.text, reading.dialect, reading.schedule)
    job = Job(job_name, reading.schedule, name=job_name, target=f"{SCHEME}:{job_name}", source=source)
    if transaction and not iscoroutinefunction(target):
        message = f"{job_name!r} is a plain function, and transaction=True needs an async function"
        raise UsageError(
            "NOT_ASYNC", message, hint="declare it with `async def`, and await the calls of the connection"
        )
    check_arguments(target, job_name, args, kwargs, transaction=transaction)
    process = options.executor == "process"
    if process:
        check_process_function(target, job_name)
        check_process_call(target, job_name, args, kwargs)
    return Declared(job_name, job, target, tuple(args), dict(kwargs), transaction, process)


def check_process_function(function: Callable[..., Any], name: str) -> None:
    """Reject an async function, which a child process cannot call."""
    if not plain(function):
        message = f'{name!r} is an async function, and executor="process" needs a plain function'
        raise UsageError("BAD_OPTION", message, hint="declare it with `def`, or remove executor=")


def import_function(path: str) -> Callable[..., Any]:
    """Import the function of `package.module:function`."""
    module, _, name = path.partition(":")
    if not module or not name:
        message = f"{clip(path)!r} is not the path of a function"
        raise UsageError("NOT_IMPORTABLE", message, hint="use package.module:function, with a colon")
    try:
        value = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"{clip(path)!r} cannot be imported: {error}"
        raise UsageError("NOT_IMPORTABLE", message, hint="use package.module:function") from error
    if not callable(value):
        raise UsageError("NOT_CALLABLE", f"{clip(path)!r} is not a function", hint="use the name of a function")
    return value


def check_callable(function: object) -> None:
    """Reject what cannot be called as the function of a job."""
    if iscoroutine(function):
        function.close()  # avoids Python's warning that it was never awaited
        name = function.__name__
        hint = f"pass the function without parentheses: {name} instead of {name}()"
        raise UsageError("NOT_CALLABLE", f"got the coroutine of {name}(), which can run only once", hint=hint)
    if not callable(function):
        raise UsageError("NOT_CALLABLE", f"{clip(repr(function))} is not a function", hint="pass a function")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        message = f"{getattr(function, '__name__', 'it')!r} is a generator function: a call does not run its body"
        raise UsageError("NOT_CALLABLE", message, hint="use a function without yield")


def job_name_of(function: Callable[..., Any], explicit_name: object) -> str:
    """Return the name of a job: the given one, or that of its function."""
    name = getattr(function, "__name__", "") if explicit_name is None else explicit_name
    try:
        if not isinstance(name, str):
            raise ValueError(f"{clip(repr(name))} is not a string")
        if len(name) > MAX_NAME_LENGTH:
            raise ValueError(f"it has {len(name):,} characters, more than {MAX_NAME_LENGTH}")
        if "\0" in name or any("\ud800" <= char <= "\udfff" for char in name):
            raise ValueError(f"{clip(repr(name))} has a character that cannot be stored")
        checked_identity(name)
    except ValueError as error:
        raise UsageError("BAD_NAME", f"the job has no usable name: {error}", hint='add a name: name="report"') from None
    return name


def check_arguments(
    function: Callable[..., Any],
    job_name: str,
    args: object,
    kwargs: object,
    *,
    transaction: bool = False,
    stored: bool = False,
) -> None:
    """Reject arguments that the function does not accept; a function without a signature accepts any.

    Args:
        function: Function of the job.
        job_name: Name of the job.
        args: Positional arguments.
        kwargs: Keyword arguments.
        transaction: Whether a connection precedes the arguments.
        stored: Whether the arguments are those of a stored job, which an older version of the function accepted.
    """
    if isinstance(args, str) or not isinstance(args, Sequence):
        hint = f"use a tuple: args=({args!r},)" if isinstance(args, str | int) else 'use a tuple: args=("a", 1)'
        raise UsageError("BAD_ARGUMENTS", f"args cannot be {clip(repr(args))}", hint=hint)
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        raise UsageError("BAD_ARGUMENTS", f"kwargs cannot be {clip(repr(kwargs))}", hint='use kwargs={"name": value}')
    try:
        parameters = signature(function)
    except (ValueError, TypeError):  # some builtins have no signature
        return
    try:
        parameters.bind(*([None] if transaction else []), *args, **kwargs)
    except TypeError as error:
        hint = "the first argument is the connection; " if transaction else ""
        hint += "pass its arguments: args=(...), kwargs={...}"
        name = getattr(function, "__name__", job_name)
        message = f"{name!r} does not accept these arguments: {error}"
        if stored:
            message = f"{name!r} does not accept the stored arguments of job {job_name!r}: {error}"
            hint = "use s.create(..., replace=True) with arguments that fit"
        raise UsageError("BAD_ARGUMENTS", message, hint=hint) from None
