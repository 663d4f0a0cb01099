"""krontab files: a job a line, `<schedule> name=.. command=.. [key=value ...]`, and # comments of whole lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kron.core.job import Command, Job
from kron.core.schedule import Schedule
from kron.errors import LanguageError, Place, clip, did_you_mean
from kron.language import parse
from kron.language.duration import read_duration
from kron.language.fields import Fault, Token
from kron.language.quoting import split, unquote

MOST_LINES = 100_000

_PAIR = re.compile(r"([A-Za-z_]+)=")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OCTAL = re.compile(r"0?[0-7]{3}")


@dataclass(frozen=True, slots=True)
class Line:
    """A job of the file: where it stood, what it said, and the job."""

    number: int
    schedule: str
    rest: str
    job: Job


@dataclass(frozen=True, slots=True)
class Table:
    """What a krontab file says, and what of it could not be read."""

    lines: tuple[Line, ...]
    errors: tuple[LanguageError, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, in the order of the file."""
        return tuple(line.job for line in self.lines)


def read_table(text: str, path: str) -> Table:
    """The jobs of a krontab file. `path` is its absolute path, and part of every job's identity."""
    lines: list[Line] = []
    errors: list[LanguageError] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        body = line.removesuffix("\r")
        if not body.strip(" \t") or body.lstrip(" \t").startswith("#"):
            continue
        try:
            if number > MOST_LINES:
                raise Fault("TOO_LONG", f"a krontab file has at most {MOST_LINES} lines", 0, len(body))
            found = _line(body, number, path)
            name = found.job.name
            if name in seen:
                raise Fault(
                    "DUPLICATE_NAME",
                    f"the name {name} is taken by line {seen[name]}",
                    *_span(body, "name"),
                    "give each job a name of its own",
                )
            seen[name] = number
            lines.append(found)
        except (Fault, LanguageError) as error:
            errors.append(_placed(error, body, number, path))
            if number > MOST_LINES:
                break
    return Table(tuple(lines), tuple(errors))


def identity_of(path: str, name: str) -> str:
    """The identity of a job in a file: one function for every door."""
    return f"{path}:{name}"


def _line(text: str, number: int, path: str) -> Line:
    words = _words(text)
    cut = next((word.start for word in words if _PAIR.match(word.text)), len(text))
    schedule = parse(text[:cut].rstrip(" \t"), dialect="kron")
    pairs = _pairs([word for word in words if word.start >= cut])
    for key in ("name", "command"):
        if key not in pairs:
            raise Fault("MISSING_KEY", f"the line has no {key}=", len(text) - 1, len(text), f"add {key}=…")
    job = _job(path, schedule, pairs)
    return Line(number, text[:cut].strip(" \t"), text[cut:], job)


def _words(text: str) -> list[Token]:
    """The words between spaces and tabs; a quoted or escaped one is part of its word."""
    opened = _open_quote(text)
    if opened is not None:
        raise Fault("UNCLOSED_QUOTE", "a double quote is never closed", opened, len(text), 'add the closing "')
    return [word for part in split(text, " ") for word in _at_tabs(part) if word.text]


def _at_tabs(word: Token) -> Iterator[Token]:
    for part in split(word.text, "\t"):
        yield Token(part.text, word.start + part.start)


def _open_quote(text: str) -> int | None:
    opened, escaped = None, False
    for at, char in enumerate(text):
        if escaped or char == "\\":
            escaped = not escaped
        elif char == '"':
            opened = at if opened is None else None
    return opened


def _pairs(words: list[Token]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        match = _PAIR.match(word.text)
        if not match:
            hint = "put a value with spaces in double quotes"
            raise Fault("NOT_A_PAIR", f"{clip(word.text)!r} is not key=value", word.start, word.end, hint)
        key, value = match[1], Token(word.text[match.end() :], word.start + match.end())
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS, f"the keys are {', '.join(_KEYS)}")
            raise Fault("UNKNOWN_KEY", f"there is no key {clip(key)!r}", word.start, value.start - 1, hint)
        if key in found and key != "env":
            raise Fault("DUPLICATE_KEY", f"{key} is given twice", word.start, word.end, "keep one of them")
        read = _read(key, value)
        found[key] = (*found.get("env", ()), read) if key == "env" else read
    return found


def _read(key: str, value: Token) -> Any:
    try:
        text = _unquote_variable(value.text) if key == "env" else unquote(value.text)
        if not text and key != "description":
            raise Fault("BAD_VALUE", f"{key} is empty", -len(key) - 1, 0, f"write {key}=…")
        return _KEYS[key](text)
    except Fault as fault:
        raise fault.moved(value.start) from None


def _unquote_variable(text: str) -> str:
    """`NAME="a value"` as well as `"NAME=a value"`."""
    name, equals, value = text.partition("=")
    return unquote(text) if text.startswith('"') else f"{name}{equals}{unquote(value)}"


def _job(path: str, schedule: Schedule, pairs: dict[str, Any]) -> Job:
    name, description = pairs.pop("name"), pairs.pop("description", "")
    command = Command(pairs.pop("command"), **pairs)
    return Job(identity_of(path, name), schedule, name, description, command)


def _matching(pattern: re.Pattern[str], what: str, hint: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise Fault("BAD_VALUE", f"{clip(text)!r} is not {what}", 0, len(text), hint)
        return text

    return read


_absolute = _matching(re.compile(r"/.*", re.DOTALL), "an absolute path", "begin it with /")


def _umask(text: str) -> int:
    return int(_matching(_OCTAL, "an octal mask", "write it as 022 or 0077")(text), 8)


def _timeout(text: str) -> int:
    timeout = read_duration(text)
    if not timeout:
        raise Fault("BAD_VALUE", "a timeout must be longer than 0", 0, len(text), "write a duration such as 30m")
    return timeout


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise Fault("BAD_VALUE", f"{clip(text)!r} is not NAME=value", 0, len(text), "write env=NAME=value")
    return name, value


_KEYS: dict[str, Callable[[str], Any]] = {
    "name": _matching(_NAME, "a name", "use letters, digits and . _ - / after the first"),
    "command": str,
    "user": str,
    "group": str,
    "cwd": _absolute,
    "env": _variable,
    "shell": _absolute,
    "umask": _umask,
    "timeout": _timeout,
    "stdout": _absolute,
    "stderr": _absolute,
    "description": str,
}


def _span(text: str, key: str) -> tuple[int, int]:
    word = next(word for word in _words(text) if word.text.startswith(f"{key}="))
    return word.start, word.end


def _placed(error: Fault | LanguageError, text: str, number: int, path: str) -> LanguageError:
    start, end = (error.start, error.end) if isinstance(error, Fault) else error.span
    place = Place(text, start, end, path, number)
    return LanguageError(error.code, error.message, place, hint=error.hint, details=error.details)
