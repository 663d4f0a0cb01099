"""Declared jobs: a function, the words of its schedule, and what is to become of it when it is late or overlaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from kron.core.decision import checked
from kron.core.job import Job
from kron.core.policy import KRON, SECOND, Catchup, FirstSight, Interrupted, Overlap, Policy, Resume
from kron.core.schedule import Schedule
from kron.core.zone import zone as zone_of
from kron.errors import KronError, clip, did_you_mean
from kron.language import parse
from kron.language.duration import read_duration
from kron.language.fault import Fault

SCHEME = "python"
LEASE = 60 * SECOND  # a run that has not been heard of for so long is lost: its process is gone
APPLICATION = Policy(
    deadline=None,
    catchup=Catchup.LATEST,
    bound=1,
    first_sight=FirstSight.AFTER,
    resume=Resume.DROP,
    run_lease=LEASE,
)

Word = TypeVar("Word", Overlap, Catchup)
Duration = str | timedelta


@dataclass(frozen=True, slots=True)
class Options:
    """How the words of a job are read, and its policy. Durations are texts such as `90s`, or timedeltas."""

    dialect: str = "fuzzy"
    zone: str | None = None
    overlap: str | None = None
    catchup: str | None = None
    deadline: Duration | None = None
    retry: Duration | None = None
    restart: bool | None = None  # None: if it is safe
    transaction: bool = False


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
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Declared:
    """The job of a function, or of `package.module:function`, on a schedule."""
    called = imported(function) if isinstance(function, str) else function
    known = str(name or getattr(called, "__name__", ""))
    try:
        checked(known)
    except ValueError as error:
        raise KronError("BAD_NAME", f"the job has no usable name: {error}", hint='give one: name="report"') from None
    schedule = _schedule(words, known, options)
    job = Job(known, schedule, name=known, description=words, target=f"{SCHEME}:{known}")
    if options.transaction and not iscoroutinefunction(called):
        message = f"{known!r} is a plain function, and the connection of a transaction is an async one"
        raise KronError("NOT_ASYNC", message, hint="write `async def`, and await what the connection does")
    return Declared(known, job, called, args, kwargs, options.transaction)


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


def _schedule(words: str, name: str, options: Options) -> Schedule:
    if options.dialect == "fuzzy":
        schedule = parse(words, dialect="fuzzy", identity=name)
        if options.zone:
            schedule = replace(schedule, zone=_zone(words, options.zone))
    else:
        schedule = parse(words, dialect=options.dialect, zone=options.zone or "UTC")
    return replace(schedule, policy=_policy(schedule.policy, options))


def _zone(words: str, name: str) -> Any:
    """The zone on whose wall clock a sentence is read; one that says its own offset has no other."""
    if "utc" in words.lower():
        message = "the sentence says where it is, and so does zone="
        raise KronError("TWO_ZONES", message, hint="take the offset out of the sentence")
    try:
        return zone_of(name)
    except LookupError:
        hint = "write a name such as Europe/Paris"
        raise KronError("UNKNOWN_ZONE", f"there is no zone {clip(name)!r}", hint=hint) from None


def _policy(said: Policy, options: Options) -> Policy:
    """The policy of an application, with what the text says of it, and what the options do."""
    policy = APPLICATION
    if said != KRON:
        policy = replace(policy, overlap=said.overlap, deadline=said.deadline, suspend=said.suspend)
    if options.overlap is not None:
        policy = replace(policy, overlap=_word(Overlap, options.overlap, "overlap"))
    if options.catchup is not None:
        policy = replace(policy, catchup=_word(Catchup, options.catchup, "catchup"), bound=100)
    if options.deadline is not None:
        policy = replace(policy, deadline=nanoseconds(options.deadline))
    if options.retry is not None:
        policy = replace(policy, retry_after=nanoseconds(options.retry))
    restart = options.transaction if options.restart is None else options.restart  # what died in one has left nothing
    return replace(policy, interrupted=Interrupted.RESTART) if restart else policy


def _word(kind: type[Word], word: str, axis: str) -> Word:
    try:
        return kind(word)
    except ValueError:
        hint = did_you_mean(word, kind, f"it is {', '.join(kind)}")
        raise KronError("BAD_OPTION", f"{axis} cannot be {clip(word)!r}", hint=hint) from None


def nanoseconds(duration: Duration) -> int:
    """A duration of either form, not negative."""
    if isinstance(duration, timedelta):
        if duration < timedelta(0):
            raise KronError("BAD_DURATION", f"{duration} is negative", hint="give a duration from 0 on")
        return duration // timedelta(microseconds=1) * 1_000
    try:
        return read_duration(duration)
    except Fault as fault:
        raise fault.within(duration) from None
