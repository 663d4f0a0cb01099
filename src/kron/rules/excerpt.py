"""Excerpts: short texts of responses and errors that are safe to keep: printable, bounded, without known secrets."""

from __future__ import annotations

import re

MAX_EXCERPT_LENGTH = 200  # characters
_MAX_SOURCE_LENGTH = 1_000  # characters of a text that are searched for secrets; what follows is dropped
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
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = _CREDENTIALS.sub(f"://{_OMITTED}@", line)
    line = _QUERY.sub(rf"\1?{_OMITTED}", line)
    line = _NAMED_SECRET.sub(rf"\1\2{_OMITTED}", line)
    return line if len(line) <= MAX_EXCERPT_LENGTH else line[: MAX_EXCERPT_LENGTH - 1] + _OMITTED


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
