"""Options of a job: how its text is read, and its policy. Each that cannot be is refused with what can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Literal, TypedDict, TypeVar
from zoneinfo import ZoneInfo

from kron.core.policy import APPLICATION, Catchup, Interrupted, Overlap, Policy
from kron.errors import KronError, clip, did_you_mean
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.settings import Settings

Word = TypeVar("Word", Overlap, Catchup)
Duration = str | timedelta


class JobOptions(TypedDict, total=False):
    """What `Scheduler.job` and its kin take besides the schedule, the name and the arguments of the function."""

    dialect: Literal["fuzzy", "posix", "service", "kron"]
    zone: str | ZoneInfo | None
    overlap: Literal["skip", "allow", "queue", "coalesce", "replace"] | None
    catchup: Literal["latest", "none", "all", "spread", "by-deadline"] | None
    deadline: Duration | None
    retry: Duration | None
    restart: bool | None
    transaction: bool


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one job. Durations are texts such as `90s`, or timedeltas."""

    dialect: str = "fuzzy"
    zone: str | None = None
    overlap: str | None = None
    catchup: str | None = None
    deadline: Duration | None = None
    retry: Duration | None = None
    restart: bool | None = None  # None: if it is safe
    transaction: bool = False

    @property
    def policy(self) -> Policy:
        """The policy of an application with what the options say. What the text says of it comes on top."""
        policy = APPLICATION
        if self.overlap is not None:
            policy = replace(policy, overlap=_word(Overlap, self.overlap, "overlap"))
        if self.catchup is not None:
            policy = replace(policy, catchup=_word(Catchup, self.catchup, "catchup"), bound=100)
        if self.deadline is not None:
            policy = replace(policy, deadline=nanoseconds(self.deadline, "deadline"))
        if self.retry is not None:
            policy = replace(policy, retry_after=nanoseconds(self.retry, "retry"))
        restart = self.transaction if self.restart is None else self.restart  # what died in one has left nothing
        return replace(policy, interrupted=Interrupted.RESTART) if restart else policy


NAMES = tuple(field.name for field in fields(Options))
_ELSEWHERE = {  # what other schedulers call it, and what to write here
    "coalesce": 'write catchup="latest", which is the default',
    "executor": "drop it: plain functions run in the threads of the scheduler, Scheduler(threads=32)",
    "hours": 'write the interval as a sentence: @s.job("every 2 hours")',
    "id": 'write name="..."',
    "jitter": 'write a window: @s.kron("0 14 * * * @win(around,4m)")',
    "jobstore": "the store is that of the scheduler: Scheduler(url)",
    "max_instances": 'write overlap="skip" for one run at a time, which is the default, or overlap="allow"',
    "minutes": 'write the interval as a sentence: @s.job("every 10 minutes")',
    "misfire_grace_time": 'write deadline="10m"',
    "next_run_time": "await s.trigger(name) runs a job now",
    "replace_existing": "drop it: a job of the same name in the store is always replaced",
    "seconds": 'write a cron line with seconds: @s.job("*/10 * * * * *", dialect="service")',
    "timeout": "a job has no time limit: use asyncio.timeout() inside the function",
    "timezone": 'write zone="Europe/Paris"',
    "trigger": 'the schedule is a text: @s.cron("0 9 * * 1-5")',
    "tz": 'write zone="Europe/Paris"',
}


def read_options(given: Mapping[str, Any]) -> Options:
    """The options that were given; the first one that cannot be is refused."""
    for name in given:
        if name not in NAMES:
            hint = _ELSEWHERE.get(name) or did_you_mean(name, NAMES, f"the options are {', '.join(NAMES)}")
            raise KronError("UNKNOWN_OPTION", f"a job has no option {clip(name)!r}", hint=hint)
    zone = given.get("zone")
    if zone == "":
        raise _bad("zone", zone, 'write the name of a zone: zone="Europe/Paris", or leave it out for UTC')
    if isinstance(zone, ZoneInfo) and zone.key:
        given = {**given, "zone": zone.key}
    elif zone is not None and not isinstance(zone, str):
        raise _bad("zone", zone, 'write the name of a zone: zone="Europe/Paris"')
    for name in ("restart", "transaction"):
        if not isinstance(given.get(name), bool | None):
            raise _bad(name, given[name], f"write {name}=True or {name}=False")
    return Options(**given)


def check_given(threads: object, patience: object, retention: object, sink: object, settings: object) -> None:
    """Refuse what a scheduler cannot be given."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise _bad("threads", threads, "give a whole number from 1 on")
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 <= patience < float("inf"):
        raise _bad("patience", patience, "give a number of seconds from 0 on")
    if (
        isinstance(retention, bool)
        or not isinstance(retention, int | None)
        or (retention is not None and retention < 1)
    ):
        raise _bad("retention", retention, "give a whole number of days from 1 on, or None to keep everything")
    if not callable(sink):
        raise _bad("sink", sink, "give a function that takes an event")
    if not isinstance(settings, Settings):
        raise _bad("settings", settings, "give a kron.settings.Settings")


def nanoseconds(duration: Duration, option: str) -> int:
    """A duration of either form, not negative."""
    if isinstance(duration, timedelta):
        if duration < timedelta(0):
            raise KronError("BAD_DURATION", f"{duration} is negative", hint="give a duration from 0 on")
        return duration // timedelta(microseconds=1) * 1_000
    if not isinstance(duration, str):
        unit = f'"{duration}s"' if isinstance(duration, int) and not isinstance(duration, bool) else '"10m"'
        raise _bad(option, duration, f"write a text with its unit, {option}={unit}, or a timedelta")
    try:
        return read_duration(duration)
    except Fault as fault:
        raise fault.within(duration) from None


def _word(kind: type[Word], word: str, option: str) -> Word:
    try:
        return kind(word)
    except ValueError:
        hint = f"it is {', '.join(kind)}"
        raise _bad(option, word, did_you_mean(word, kind, hint) if isinstance(word, str) else hint) from None


def _bad(option: str, value: object, hint: str) -> KronError:
    shown = repr(clip(value)) if isinstance(value, str) else clip(repr(value))
    return KronError("BAD_OPTION", f"{option} cannot be {shown}", hint=hint)
