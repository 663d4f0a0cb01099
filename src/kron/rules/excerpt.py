"""Excerpts: short texts of responses and errors that are safe to keep: printable, bounded, without known secrets."""

from __future__ import annotations

import re

MAX_EXCERPT_LENGTH = 200  # characters
_MAX_SOURCE_LENGTH = 1_000  # characters of a text that are searched for secrets; what follows is dropped
_MAX_END_LENGTH = 4_000  # characters of the end of a text that are searched for secrets
_OMITTED = "…"
_CREDENTIALS = re.compile(r"://[^/\s@]*@")
_QUERY = re.compile(r"(://[^\s?#\"'<>]*)[?#][^\s\"'<>]*")
_NAMED_SECRET = re.compile(
    r"(password|passwd|secret|token|api[_-]?key|authorization|cookie|signature)([\\\"']*\s*[=:]\s*)"
    r"(…|\"[^\"]*\"?|'[^']*'?|\\\"[^\"]*\"?|(?:bearer\s+|basic\s+)?[^\s;}&]+)",
    re.IGNORECASE,
)


def excerpt_of(text: str) -> str:
    """Return the beginning of a text as one line of at most 200 characters.

    Characters that are not printable become spaces. Credentials and query strings of URLs are removed, and so are
    values that are named as secrets, such as `token=…`.
    """
    if len(text) > _MAX_SOURCE_LENGTH:  # a word that is cut could be a secret that is no longer recognized
        text = text[:_MAX_SOURCE_LENGTH].rpartition(" ")[0]
    line = _safe_line(text)
    return line if len(line) <= MAX_EXCERPT_LENGTH else line[: MAX_EXCERPT_LENGTH - 1] + _OMITTED


def excerpt_of_end(cause: str, text: str) -> str:
    """Return a cause and the end of a text as one line of at most 200 characters, with the same omissions.

    Args:
        cause: Cause of a failure; empty if there is none. It is safe, and shorter than 100 characters.
        text: Text of which only the end is of interest, such as the output of a command.
    """
    beginning = f"{cause}: " if cause else ""
    if len(text) > _MAX_END_LENGTH:  # the cut is far before the part that is kept
        text = text[-_MAX_END_LENGTH:].partition(" ")[2]
    line, room = _safe_line(text), MAX_EXCERPT_LENGTH - len(beginning)
    if not line:
        return cause
    return beginning + (line if len(line) <= room else _OMITTED + line[1 - room :])


def _safe_line(text: str) -> str:
    """Return a text as one line of printable characters, without known secrets."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = _CREDENTIALS.sub(f"://{_OMITTED}@", line)
    line = _QUERY.sub(rf"\1?{_OMITTED}", line)
    return _NAMED_SECRET.sub(rf"\1\2{_OMITTED}", line)


def excerpt_of_error(error: BaseException | None) -> str:
    """Return type and text of an exception as an excerpt; empty without an exception."""
    if error is None:
        return ""
    try:
        text = str(error)
    except Exception:  # the exception is the user's, and so is its text
        text = ""
    name = type(error).__name__
    return excerpt_of(f"{name}: {text}" if text else name)
