"""Schedule of a job: a text, an interval `every=`, or moments `at=`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kron.apps.embedded.options import JobOptions, nanoseconds, policy_of, zone_name
from kron.errors import InvalidSchedule, LanguageError, UsageError, clip
from kron.language.agreement import accept
from kron.language.clock_rule import with_clock_rule
from kron.language.dialect import TABLE, split_name
from kron.language.door import CALL, DECORATOR, Door
from kron.language.duration import write_duration
from kron.language.moment import write_moment
from kron.language.options import Options
from kron.language.reading import Reading, read, zone_of
from kron.timing.schedule.cron import possible
from kron.timing.schedule.head import Moment, Moments
from kron.timing.schedule.policy import Overlap
from kron.timing.zone import Zone, instant

DIALECT = "fuzzy"  # dialect of a text that names none
_ANCHOR = "1970-01-01T00:00Z"  # of an interval, so that every process of an application counts from the same moment
_EXAMPLE = 'give the schedule as a string in parentheses: @s.job("daily around 14:00")'
_CALL_EXAMPLE = 'give a schedule: "daily around 14:00", every="10m" or at=datetime(2026, 12, 1, 9)'


def check_schedule(text: object, options: JobOptions, job_name: str = "") -> None:
    """Reject a job without a schedule or with two, and a schedule that is not a string.

    Args:
        text: Text of the schedule; None without one.
        options: Options of the job.
        job_name: Name of a job that a call declares or creates; empty for a decorator.
    """
    given = [name for name in ("every", "at") if getattr(options, name) is not None]
    if text is not None:
        given.insert(0, "the text")
    if len(given) > 1:
        message = f"the job has two schedules: {' and '.join(given)}"
        raise UsageError("TWO_SCHEDULES", message, hint="keep one of them, or declare two jobs")
    if not given or (text is not None and not isinstance(text, str)):
        is_bare = text is None or callable(text)  # a decorator without parentheses passes its function
        subject = f"job {clip(job_name)!r}" if job_name else "the decorator"
        message = f"{subject} has no schedule" if is_bare else f"schedule {clip(repr(text))} is not a string"
        raise InvalidSchedule("BAD_SCHEDULE", message, hint=_CALL_EXAMPLE if job_name else _EXAMPLE)


def read_schedule(text: str | None, name: str, options: JobOptions, door: Door = DECORATOR) -> Reading:
    """Read the schedule of a job. Without a text, the options have an interval or moments.

    Args:
        text: Text of the schedule; None without one.
        name: Name of the job.
        options: Options of the job.
        door: How the caller names a dialect, for the hints of errors.
    """
    if text is None:
        options = replace(options, dialect="plus")
        text = _interval_text(options) if options.every is not None else _moments_text(options)
    reading = _read_text(text, name, options, door)
    return _with_dst(reading, options) if options.dst is not None else reading


def read_created_schedule(text: str | None, name: str, options: JobOptions) -> Reading:
    """Read the schedule of a job that is created at run time.

    A moment that is listed comes once, so it waits for an active run instead of being skipped, unless `overlap` or the
    text says otherwise.
    """
    reading = read_schedule(text, name, options, CALL)
    if options.overlap is None and isinstance(reading.schedule.cron, Moments):
        return read_schedule(text, name, replace(options, overlap=Overlap.QUEUE.value), CALL)
    return reading


def _interval_text(options: JobOptions) -> str:
    every = options.every
    if not isinstance(every, str):
        return f"every {write_duration(nanoseconds(every, 'every'))} from {_ANCHOR}"  # type: ignore[arg-type]
    return f"every {''.join(every.split())} from {_ANCHOR}"


def _moments_text(options: JobOptions) -> str:
    at = options.at
    given = list(at) if isinstance(at, Sequence) and not isinstance(at, str) else [at]
    moments = [moment for moment in given if isinstance(moment, datetime)]
    if not given or len(moments) < len(given):
        hint = "use a datetime or a list of datetimes: at=datetime(2026, 12, 1, 9)"
        raise UsageError("BAD_OPTION", f"at cannot be {clip(repr(at))}", hint=hint)
    return f"at {','.join(write_moment(_moment(moment)) for moment in moments)}"


def _moment(moment: datetime) -> Moment:
    """Return the moment of a datetime: a wall-clock time in the time zone of the job, unless it has a zone.

    A part of a second is rounded up, because a moment is a whole second.
    """
    rounding = 1 if moment.microsecond else 0
    if moment.tzinfo is not None:
        return Moment(instant(moment) + rounding, is_instant=True)
    return Moment(instant(moment.replace(tzinfo=UTC)) + rounding)  # the same digits, read as a wall-clock time


def _with_dst(reading: Reading, options: JobOptions) -> Reading:
    """Return a reading with the rule for clock changes of the options."""
    rule = options.dst
    if not isinstance(rule, str):
        raise UsageError("BAD_OPTION", f"dst cannot be {clip(repr(rule))}", hint='use dst="once" or dst="wall"')
    return with_clock_rule(reading, rule)


def cron_options(text: object, options: JobOptions) -> JobOptions:
    """Return the options of `Scheduler.cron`: strict POSIX if it accepts the text, otherwise a crontab line.

    A crontab line has steps, names and macros. Its own rule for clock changes is not used, so that both kinds of text
    follow the same rule: the clock on the wall, unless `dst` says otherwise.
    """
    if not isinstance(text, str) or split_name(text) or accept(text, TABLE["posix"], Options()):
        return replace(options, dialect="posix")
    return replace(options, dialect="vixie", dst="wall" if options.dst is None else options.dst)


def _read_text(text: str, name: str, options: JobOptions, door: Door) -> Reading:
    """Read a schedule in the dialect that the option or the text names; by default, it is a sentence."""
    named, dialect = split_name(text), options.dialect
    try:
        if (named.dialect if named else dialect or DIALECT) == "fuzzy":
            return _read_sentence(text, name, options, door)
        zone = _zone(zone_name(options) or "UTC")
        reading = read(text, dialect, Options(zone, policy_of(options), identity=name), default=DIALECT, door=door)
    except LanguageError as error:
        first, *others = error.hint.split("\n")
        error.hint = "\n".join([_hint(error, first, dialect or DIALECT, text, door), *others])
        raise
    if not possible(reading.schedule.cron):
        hint = "choose a day that exists"
        raise InvalidSchedule("NEVER", f"{clip(text)!r} never runs: no month has such a day", hint=hint)
    return reading


def _read_sentence(text: str, name: str, options: JobOptions, door: Door) -> Reading:
    """Read a sentence in the local time of its zone. Its own UTC offset excludes `timezone`."""
    from kron.language.sentences.read import read_sentence

    policy, zone = policy_of(options), zone_name(options)
    reading = read(text, options.dialect, Options(policy=policy, identity=name), default=DIALECT, door=door)
    if not zone:
        return reading
    if read_sentence(reading.text).offset:
        message = "the sentence has a UTC offset, and timezone= is given too"
        raise InvalidSchedule("TWO_ZONES", message, hint="remove the offset from the sentence, or remove timezone=")
    return reading._replace(schedule=replace(reading.schedule, zone=_zone(zone)))


def _zone(name: str) -> Zone:
    """Return the time zone of the option; the place of an error names the option."""
    try:
        return zone_of(name)
    except LanguageError as error:
        place = error.place._replace(source="timezone")
        raise LanguageError(error.code, error.message, place, hint=error.hint, details=error.details) from None


def _hint(error: LanguageError, hint: str, dialect: str, text: str, door: Door) -> str:
    """Return the hint for a text that another decorator or another dialect accepts."""
    if split_name(text):
        return hint
    if dialect == "fuzzy" and text.strip()[:1] in tuple("0123456789*"):
        return _cron_line_hint(error, hint, text, door)
    if dialect == "posix" and error.details.get("unsupported"):
        other = "use @s.kron(...)" if door is DECORATOR else 'pass dialect="kron"'
        return f"{hint}; or {other}, which accepts steps and names"
    if error.details.get("surplus") and len(text.split()) == 6 and "service" in str(error.details.get("read_by")):
        other = f'use @s.job("{text}", dialect="service")' if door is DECORATOR else 'pass dialect="service"'
        return f"for a cron line with seconds, {other}"
    return hint


def _cron_line_hint(error: LanguageError, hint: str, text: str, door: Door) -> str:
    """Return the hint for a cron line where a sentence is expected: the decorator or the dialect that accepts it."""
    read_by, is_call = error.details.get("read_by"), door is not DECORATOR
    names = read_by if isinstance(read_by, list) else []
    if len(text.split()) == 5 and (not names or "kron" in names):
        if is_call:
            return f'for a cron line, write "kron: {text}", or pass dialect="kron"'
        return "for a cron line, use @s.cron(...), or @s.kron(...) for steps, names and windows"
    if "kron" in names:
        other = 'pass dialect="kron"' if is_call else "use @s.kron(...)"
        return f"for a cron line with modifiers, {other}"
    if "service" in names and not is_call:
        return f'for a cron line with seconds, use dialect="service": @s.job("{text}", dialect="service")'
    if "service" in names:
        return 'for a cron line with seconds, pass dialect="service"'
    return door.dialect.format(names[0]) if names else hint
