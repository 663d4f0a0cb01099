"""Parser of krontab files: one job per line, `<schedule> name=.. command=.. [key=value ...]`, and # comment lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from kron.errors import InvalidSchedule, LanguageError, clip, did_you_mean
from kron.language import kron
from kron.language.agreement import ANY_IDENTITY
from kron.language.boot_form import is_boot_text, read_boot
from kron.language.dialect import TABLE, NamedText, split_name
from kron.language.door import FILE
from kron.language.fault import Fault
from kron.language.krontab_values import KEYS
from kron.language.notification_form import MAX_NOTIFICATIONS
from kron.language.opinion import with_opinion
from kron.language.options import Options
from kron.language.quoting import WORD, check_quotes, quote, spans, unquote
from kron.language.source import source_of
from kron.language.tokens import check_text
from kron.timing.job import Command, Job, Source
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import WorkerLossPolicy
from kron.timing.zone import UTC_ZONE

DIALECT = "kron"  # dialect of a schedule that names none
MAX_LINES = 100_000
MAX_ERRORS = 100  # with more invalid lines, the file is probably not a krontab file

# Fields have no equals sign, and modifiers have it only inside parentheses. So the schedule ends at the first key.
_KEY = re.compile(r'([^"\\@(= \t]++)=')
_SCHEDULE = re.compile(rf"(?:[ \t]*+(?!{_KEY.pattern}){WORD})*[ \t]*+", re.DOTALL)
# The properties of a recurrence have equals signs, but none of them is a key.
_RECURRENCE = re.compile(
    rf"(?:[ \t]*+(?:(?=(?i:RRULE|DTSTART|EXDATE)[:;])|(?!{_KEY.pattern})){WORD})*[ \t]*+", re.DOTALL
)
_USER = re.compile(r"(root)[ \t]+")  # of a system crontab
_NOUNS = {"env": "variable", "notify": "notification"}


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the file: its number, its schedule text, the rest of its text, the job, and the dialect of the text."""

    number: int
    schedule: str
    rest: str
    job: Job
    dialect: str = DIALECT


@dataclass(frozen=True, slots=True)
class Table:
    """Valid lines of a krontab file, and the errors of the invalid ones."""

    lines: tuple[Line, ...]
    errors: tuple[LanguageError, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Jobs in the order of the file."""
        return tuple(line.job for line in self.lines)


def read_table(text: str, path: str) -> Table:
    """Parse a krontab file.

    Args:
        text: Content of the file.
        path: Absolute path of the file. It is part of the identity of every job.

    Returns:
        The valid lines, and one error per invalid line. Reading stops after 100,000 lines or 100 errors.

    Raises:
        InvalidSchedule: The path cannot be part of an identity.
    """
    _check_path(path)
    lines: list[Line] = []
    errors: list[LanguageError] = []
    line_numbers: dict[str, int] = {}
    for number, raw_line in enumerate(text.split("\n"), 1):
        line_text = raw_line.removesuffix("\r")
        if line_text.lstrip(" \t")[:1] in ("", "#"):
            continue
        limit_fault = _limit_fault(number, len(errors), len(line_text))
        if limit_fault:
            errors.append(limit_fault.within(line_text, path, number))
            break
        try:
            line = _read_line(line_text, number, path)
            if line.job.name in line_numbers:
                raise _duplicate_name(line, line_numbers[line.job.name], len(line_text))
        except Fault as fault:
            errors.append(fault.within(line_text, path, number))
        else:
            line_numbers[line.job.name] = number
            lines.append(line)
    return Table(tuple(lines), tuple(errors))


def _check_path(path: str) -> None:
    """Reject a path that cannot be part of an identity.

    A line feed separates the inputs of a seed, and the seed is hashed as UTF-8.
    """
    try:
        path.encode()
        is_valid = "\n" not in path
    except UnicodeEncodeError:
        is_valid = False
    if not is_valid:
        message = f"path {clip(path)!r} has a line feed or is not valid UTF-8, so it cannot be part of an identity"
        raise InvalidSchedule("BAD_PATH", message, hint="rename the file")


def _limit_fault(line_number: int, error_count: int, end: int) -> Fault | None:
    """Return the fault that ends the reading at this line, or None."""
    if line_number > MAX_LINES:
        message = f"file has more than {MAX_LINES} lines"
        return Fault("TOO_LONG", message, 0, end, "move the remaining lines to another file")
    if error_count >= MAX_ERRORS:
        message = f"stopped reading after {error_count} invalid lines"
        return Fault("TOO_MANY_ERRORS", message, 0, end, "check that this is a krontab file")
    return None


def identity_of(path: str, name: str) -> str:
    """Return the identity of a job in a krontab file. Every component must use this function."""
    return f"{path}:{name}"


def _read_line(text: str, number: int, path: str) -> Line:
    check_text(text)
    check_quotes(text)
    whole = split_name(text)
    schedule_match = (_RECURRENCE if whole and whole.dialect == "rrule" else _SCHEDULE).match(text)
    schedule_end = schedule_match.end() if schedule_match else 0
    named = split_name(text[:schedule_end]) if whole else None
    schedule = _read_named_schedule(named, ANY_IDENTITY) if named else _read_schedule(text[:schedule_end])
    pairs = _read_pairs(text, schedule_end)
    missing = [key for key in ("name", "command") if key not in pairs]
    if missing:
        message, hint = f"line has no {'= and no '.join(missing)}=", f"add {'=… '.join(missing)}=…"
        end = len(text.rstrip(" \t"))
        raise Fault("MISSING_KEY", message, end, end + 1, hint)
    if named and TABLE[named.dialect].needs_identity:
        schedule = _read_named_schedule(named, identity_of(path, pairs["name"]))
    source, dialect = (named.text if named else text[:schedule_end]).strip(" \t"), named.dialect if named else DIALECT
    job = _build_job(path, source_of(source, dialect, schedule), schedule, pairs)
    return Line(number, source, text[schedule_end:], job, dialect)


def _read_schedule(text: str) -> Schedule:
    if is_boot_text(text):
        return read_boot(text)
    try:
        return _read_cached_schedule(text) if len(text) <= 256 else kron.read(text, UTC_ZONE)
    except Fault as fault:
        surplus = str(fault.details.get("surplus", ""))
        if surplus and surplus[0] not in "#@":
            fault.hint = _command_hint(surplus)
        elif not text.strip(" \t"):
            fault.hint = "begin the line with a schedule; set variables per job with env=NAME=value"
        raise with_opinion(fault, text, DIALECT, Options(identity=ANY_IDENTITY), FILE) from None


def _command_hint(surplus: str) -> str:
    """Return the hint for the text after the fields of a crontab line, without the user of a system crontab."""
    user = _USER.match(surplus)
    command = surplus[user.end() :] if user else surplus
    value = quote(command) if len(command) <= 200 else '"…"'
    return f"write the command as command={value}" + (f"; write its user as user={user[1]}" if user else "")


def _read_named_schedule(named: NamedText, identity: str) -> Schedule:
    text, options = named.text.rstrip(" \t"), Options(identity=identity)
    try:
        return TABLE[named.dialect].read(text, options)
    except Fault as fault:
        raise with_opinion(fault, text, named.dialect, options, FILE).moved(named.start) from None


@lru_cache(4_096)
def _read_cached_schedule(text: str) -> Schedule:
    """Parse a schedule with a cache, because many lines of a file have the same schedule."""
    return kron.read(text, UTC_ZONE)


def _read_pairs(text: str, pairs_start: int) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    repeatable = {"env": dict[str, Any](), "notify": dict[str, Any]()}  # keys whose values have names
    for start, end in spans(text, pairs_start):
        match = _KEY.match(text, start, end)
        if not match:
            word = text[start:end]
            hint = "remove the comment" if word.startswith("#") else "put a value with spaces in double quotes"
            raise Fault("NOT_A_PAIR", f"{clip(word)!r} is not key=value", start, end, hint)
        key, value_start = match[1], match.end()
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, f"use one of {', '.join(KEYS)}")
            raise Fault("UNKNOWN_KEY", f"unknown key {clip(key)!r}", start, value_start - 1, hint)
        value = _read_value(key, text[value_start:end], value_start)
        group = "notify" if key == "mailto" else key
        values, name = pairs, key
        if group in repeatable:
            values, (name, value) = repeatable[group], value
        if name in values:
            message = f"duplicate {_NOUNS.get(group, 'key')} {clip(name)}"
            raise Fault("DUPLICATE_KEY", message, start, end, "keep one of them")
        values[name] = value
        if group == "notify" and len(values) > MAX_NOTIFICATIONS:
            message = f"job has more than {MAX_NOTIFICATIONS} notifications"
            raise Fault("BAD_VALUE", message, start, end, "remove some of them")
    return pairs | {key: tuple(values.items()) for key, values in repeatable.items()}


def _read_value(key: str, value: str, start: int) -> Any:
    try:
        text = _unquote_variable(value) if key == "env" else unquote(value)
        if not text and key != "description":
            raise Fault("BAD_VALUE", f"value of {key} is empty", -len(key) - 1, 0, f"write {key}=…")
    except Fault as fault:
        raise fault.moved(start) from None
    try:
        return KEYS[key](text)
    except Fault as fault:
        raise (fault.moved(start) if text == value else fault.at(start, start + len(value))) from None


def _unquote_variable(text: str) -> str:
    """Remove the quotes of `NAME="a value"` or `"NAME=a value"`."""
    if text.startswith('"'):
        return unquote(text)
    name, equals, value = text.partition("=")
    try:
        return f"{name}{equals}{unquote(value)}"
    except Fault as fault:
        raise fault.moved(len(name) + 1) from None


def _build_job(path: str, source: Source, schedule: Schedule, pairs: dict[str, Any]) -> Job:
    name, description = pairs.pop("name"), pairs.pop("description", "")
    if pairs.pop("restart", False):
        schedule = replace(schedule, policy=replace(schedule.policy, on_worker_loss=WorkerLossPolicy.RESTART))
    command = Command(pairs.pop("command"), **pairs)
    return Job(identity_of(path, name), schedule, name, description, command, source=source)


def _duplicate_name(line: Line, first_line: int, length: int) -> Fault:
    offset = length - len(line.rest)
    start, end = next(span for span in spans(line.rest) if line.rest.startswith("name=", *span))
    message, hint = f"duplicate name {line.job.name}, already used in line {first_line}", "give each job a unique name"
    return Fault("DUPLICATE_NAME", message, offset + start, offset + end, hint)
