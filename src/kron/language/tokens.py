"""Tokens: words between spaces and tabs, and the characters that cron lines cannot contain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kron.language.fault import Fault

MAX_TEXT_LENGTH = 65_536  # maximum length of a text, in characters

_WORD = re.compile(r"[^ \t]+")
_NOT_TEXT = re.compile(r"[\0\ud800-\udfff]")
_NOT_FIELD_CHARACTER = re.compile(r"[^\t -~]")


class Token(NamedTuple):
    """Word of a text and the index of its first character."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Index after the last character."""
        return self.start + len(self.text)


def words(text: str) -> list[str]:
    """Return the words of a text, separated by spaces and tabs."""
    return text.split() if text.isascii() and text.isprintable() else _WORD.findall(text)


def tokens(text: str, limit: int | None = None) -> list[Token]:
    """Return the same words with their positions; with `limit`, only the first ones."""
    return [Token(match[0], match.start()) for match in islice(_WORD.finditer(text), limit)]


def elements(field: Token) -> Iterator[Token]:
    """Yield the different elements of a list, with their positions. A repeated element costs little."""
    start, known = field.start, set[str]()
    for text in field.text.split(","):
        if text not in known:
            known.add(text)
            yield Token(text, start)
        start += len(text) + 1


def check_text(text: str) -> None:
    """Reject a text that is too long, or that has characters which UTF-8 or databases cannot represent."""
    if len(text) > MAX_TEXT_LENGTH:
        message, hint = f"text has {len(text)} characters", f"use at most {MAX_TEXT_LENGTH}"
        raise Fault(
            "TOO_LONG", message, MAX_TEXT_LENGTH, len(text), hint, {"field": "expression", "reason": "is too long"}
        )
    if text.isascii() and "\0" not in text:
        return
    match = _NOT_TEXT.search(text)
    if match and match[0] == "\0":
        raise _character_fault(match, "NUL (U+0000) is not allowed", "remove it")
    if match:
        raise _character_fault(match, "an unpaired surrogate is not allowed", "write the text in UTF-8")


def invalid_character(text: str) -> Fault | None:
    """Return the fault of the first character that fields cannot have, such as a typographic dash or space."""
    match = _NOT_FIELD_CHARACTER.search(text)
    if not match:
        return None
    name = _CHARACTER_NAMES.get(match[0]) or unicodedata.name(match[0], "control character")
    return _character_fault(match, f"{name} (U+{ord(match[0]):04X}) is not allowed", _replacement_hint(match[0]))


def _character_fault(match: re.Match[str], message: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": "expression", "reason": f"has an invalid character: {message}"}
    return Fault("BAD_CHARACTER", message, match.start(), match.end(), hint, details)


def _replacement_hint(char: str) -> str:
    """Return the hint for an invalid character, which often resembles a valid one."""
    category = unicodedata.category(char)
    if char in "\r\n":
        return "write the schedule on one line"
    if char.isspace():
        return "write a space"
    if category in ("Cc", "Cf"):
        return "remove it"
    replacement = unicodedata.normalize("NFKC", char)
    if category == "Nd":
        replacement = str(unicodedata.decimal(char))
    elif category == "Pd" or char in _LOOKALIKES:
        replacement = _LOOKALIKES.get(char, "-")
    return f"write {replacement}" if replacement.isascii() else "write plain ASCII"


_LOOKALIKES = {"−": "-", "∗": "*", "⁎": "*", "✱": "*", "٭": "*"}
_CHARACTER_NAMES = {"\n": "line feed", "\r": "carriage return", "\ufeff": "byte order mark"}
