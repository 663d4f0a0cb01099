"""Declared jobs: a function with its arguments, and the schedule that its text says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import isasyncgenfunction, iscoroutine, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any

from kron.apps.embedded.options import Options
from kron.core.decision import checked
from kron.core.job import Job
from kron.core.schedule import Schedule
from kron.core.schedule.cron import possible
from kron.errors import KronError, LanguageError, clip
from kron.language import parse
from kron.language.bodies import read_zone
from kron.language.fault import Fault

SCHEME = "python"
_EXAMPLE = 'write it as text in the parentheses: @s.job("daily around 14:00")'


@dataclass(frozen=True, slots=True)
class Declared:
    """A job that this process can run."""

    name: str
    job: Job
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    transaction: bool = False  # its first argument is a connection


def declare(
    function: Callable[..., Any] | str,
    words: str,
    options: Options,
    name: str | None,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Declared:
    """The job of a function, or of `package.module:function`, on a schedule."""
    check_words(words)
    called = imported(function) if isinstance(function, str) else function
    _check_callable(called)
    known = _name(called, name)
    schedule = _schedule(words, known, options)
    job = Job(known, schedule, name=known, description=words, target=f"{SCHEME}:{known}")
    if options.transaction and not iscoroutinefunction(called):
        message = f"{known!r} is a plain function, and the connection of a transaction is an async one"
        raise KronError("NOT_ASYNC", message, hint="write `async def`, and await what the connection does")
    _check_arguments(called, known, args, kwargs, options.transaction)
    return Declared(known, job, called, tuple(args), dict(kwargs), options.transaction)


def check_words(words: object) -> None:
    """Refuse a schedule that is no text: a decorator without parentheses hands over its function."""
    if not isinstance(words, str):
        what = "the decorator has no schedule" if callable(words) else f"a schedule is a text, not {clip(repr(words))}"
        raise KronError("BAD_SCHEDULE", what, hint=_EXAMPLE)


def imported(path: str) -> Callable[..., Any]:
    """The function of `package.module:function`."""
    module, _, name = path.partition(":")
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"{clip(path)!r} cannot be imported: {error}"
        raise KronError("NOT_IMPORTABLE", message, hint="write package.module:function") from error
    if not callable(found):
        raise KronError("NOT_CALLABLE", f"{clip(path)!r} is not a function", hint="name a function")
    return found


def _check_callable(function: object) -> None:
    if iscoroutine(function):
        function.close()  # or Python complains that nobody awaited it
        name = function.__name__
        hint = f"write the function without parentheses: {name} instead of {name}()"
        raise KronError("NOT_CALLABLE", f"{name}() was called, and its coroutine cannot run twice", hint=hint)
    if not callable(function):
        raise KronError("NOT_CALLABLE", f"{clip(repr(function))} is not a function", hint="give a function")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        message = f"{getattr(function, '__name__', 'it')!r} is a generator: calling it runs nothing of it"
        raise KronError("NOT_CALLABLE", message, hint="write a function without yield")


def _name(function: Callable[..., Any], given: object) -> str:
    name = getattr(function, "__name__", "") if given is None else given
    try:
        if not isinstance(name, str):
            raise ValueError(f"{clip(repr(name))} is not a text")
        checked(name)
    except ValueError as error:
        raise KronError("BAD_NAME", f"the job has no usable name: {error}", hint='give one: name="report"') from None
    return name


def _check_arguments(function: Callable[..., Any], name: str, args: object, kwargs: object, transaction: bool) -> None:
    """Refuse arguments that the function does not take; where it does not tell, they are taken as they are."""
    if isinstance(args, str) or not isinstance(args, Sequence):
        hint = f"write a tuple: args=({args!r},)" if isinstance(args, str | int) else 'write a tuple: args=("a", 1)'
        raise KronError("BAD_ARGUMENTS", f"args cannot be {clip(repr(args))}", hint=hint)
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        raise KronError("BAD_ARGUMENTS", f"kwargs cannot be {clip(repr(kwargs))}", hint='write kwargs={"name": value}')
    try:
        takes = signature(function)
    except (ValueError, TypeError):  # some builtins do not tell
        return
    try:
        takes.bind(*([None] if transaction else []), *args, **kwargs)
    except TypeError as error:
        hint = "the first argument is the connection; " if transaction else ""
        hint += "say what it is called with: args=(...), kwargs={...}"
        raise KronError("BAD_ARGUMENTS", f"{name!r} cannot be called so: {error}", hint=hint) from None


def _schedule(words: str, name: str, options: Options) -> Schedule:
    try:
        if options.dialect == "fuzzy":
            return _sentence(words, name, options)
        schedule = parse(words, dialect=options.dialect, zone=options.zone or "UTC", policy=options.policy)
    except LanguageError as error:
        error.hint = _hint(error, options.dialect, words)
        raise
    if not possible(schedule.cron):
        hint = "choose a day that one of the months has"
        raise KronError("NEVER", f"{clip(words)!r} would never run: no month has such a day", hint=hint)
    return schedule


def _sentence(words: str, name: str, options: Options) -> Schedule:
    """The schedule of a sentence, on the wall clock of the zone; one that says its own offset has no other."""
    from kron.language.sentences.sentence import read_sentence

    schedule = parse(words, dialect="fuzzy", identity=name, policy=options.policy)
    if not options.zone:
        return schedule
    if read_sentence(words).offset:
        message = "the sentence says where it is, and so does zone="
        raise KronError("TWO_ZONES", message, hint="take the offset out of the sentence, or drop zone=")
    try:
        return replace(schedule, zone=read_zone(options.zone))
    except Fault as fault:
        raise fault.within(options.zone) from None


def _hint(error: LanguageError, dialect: str, words: str) -> str:
    """The hint of a text that another decorator would read."""
    if dialect == "fuzzy" and words.strip()[:1] in tuple("0123456789*"):
        if len(words.split()) == 6:
            return (
                f'this is a cron line with seconds: write dialect="service", as in @s.job("{words}", dialect="service")'
            )
        return "this is a cron line: write @s.cron(...), or @s.kron(...) for steps, names and windows"
    if dialect == "posix" and error.code in ("STEP", "NAME"):
        return f"{error.hint}; or write @s.kron(...), which reads steps and names"
    if error.code == "FIELD_COUNT" and len(words.split()) == 6:
        return f'for a line with seconds, write @s.job("{words}", dialect="service")'
    return error.hint
