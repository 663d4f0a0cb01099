"""Wire: the messages of the control socket. A request is one line of JSON, and so is an answer, unless it is long.

A request has a `command` of `krontab` and its `arguments`, as a list of words. If it has `bytes`, that number of bytes
follows the line: the text of a table. An answer has `out` and `err`, the text for the two output streams, and the last
line of an answer has the exit `status` and the `errors`. A longer answer has several lines with parts of the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kron.errors import InvalidInput, KronError, LanguageError

MAX_LINE_BYTES = 65_536
MAX_ARGUMENTS = 100
MAX_ANSWER_CHARACTERS = 8 << 20
TIMEOUT_SECONDS = 5.0  # for each message
_PART = 4_000  # characters of a line; each has at most 12 bytes
_MAX_ERRORS = 20


class Request(NamedTuple):
    """Request: a command of `krontab`, its words, and the number of bytes that follow; None if there are none."""

    command: str
    arguments: tuple[str, ...] = ()
    size: int | None = None

    def line(self) -> bytes:
        """Return the line of the request."""
        size = {} if self.size is None else {"bytes": self.size}
        return _line({"command": self.command, "arguments": self.arguments, **size})


def read_request(line: bytes) -> Request:
    """Return the request of a line.

    Raises:
        InvalidInput: The line is no request.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not fields.keys() <= {"command", "arguments", "bytes"}:
        raise _bad_request("the request is not a JSON object with command, arguments and bytes")
    command, arguments, size = fields.get("command"), fields.get("arguments", []), fields.get("bytes")
    if not isinstance(command, str):
        raise _bad_request("the request has no command")
    if not isinstance(arguments, list) or not all(map(_is_text, arguments)):
        raise _bad_request("the arguments are not a list of texts")
    if len(arguments) > MAX_ARGUMENTS:
        raise _bad_request(f"the request has more than {MAX_ARGUMENTS} arguments")
    if size is not None and (type(size) is not int or size < 0):
        raise _bad_request("bytes is not a number of bytes")
    return Request(command, tuple(arguments), size)


def _is_text(word: object) -> bool:
    """Return whether a value is a text that can be stored as UTF-8."""
    return isinstance(word, str) and not any("\ud800" <= character <= "\udfff" for character in word)


def _bad_request(message: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", message, hint='write one line, such as {"command": "why", "arguments": ["tick"]}')


def answer_lines(status: int | None, out: str, err: str, errors: Sequence[KronError] = ()) -> Iterator[bytes]:
    """Yield the lines of an answer. Without a status, more text follows later."""
    if len(out) + len(err) > _PART:
        yield from (_line({name: part}) for name, text in (("out", out), ("err", err)) for part in _parts(text))
        out = err = ""
    texts = {name: text for name, text in (("out", out), ("err", err)) if text}
    if status is not None:
        records = [_error(error) for error in errors[:_MAX_ERRORS]]
        while len(line := _line({"status": status, **texts, "errors": records})) > MAX_LINE_BYTES:
            records.pop()  # the text has it nevertheless
        yield line
    elif texts:
        yield _line(texts)


def _parts(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PART):
        yield text[start : start + _PART]


def _error(error: KronError) -> dict[str, str | None]:
    place = error.place.label if isinstance(error, LanguageError) else None
    return {"code": error.code, "message": error.message, "place": place, "hint": error.hint or None}


def _line(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields).encode() + b"\n"
