"""Tokens: words between spaces and tabs, and the characters that cron lines cannot contain."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import NamedTuple

from kron.language.fault import Fault

LONGEST = 65_536  # maximum length of a text, in characters

_WORD = re.compile(r"[^ \t]+")
_NOT_TEXT = re.compile(r"[\0\ud800-\udfff]")
_STRANGE = re.compile(r"[^\t -~]")


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


def tokens(text: str, most: int | None = None) -> list[Token]:
    """Return the same words with their positions; with `most`, only the first ones."""
    return [Token(found[0], found.start()) for found in islice(_WORD.finditer(text), most)]


def admit(text: str) -> None:
    """Reject a text that is too long, or that has characters which UTF-8 or databases cannot represent."""
    if len(text) > LONGEST:
        message, hint = f"text has {len(text)} characters", f"use at most {LONGEST}"
        raise Fault("TOO_LONG", message, LONGEST, len(text), hint, {"field": "expression", "reason": "is too long"})
    if text.isascii() and "\0" not in text:
        return
    bad = _NOT_TEXT.search(text)
    if bad and bad[0] == "\0":
        raise _strange(bad, "NUL (U+0000) is not allowed", "remove it")
    if bad:
        raise _strange(bad, "an unpaired surrogate is not allowed", "write the text in UTF-8")


def strange(text: str) -> Fault | None:
    """Return the fault of the first character that fields cannot have, such as a typographic dash or space."""
    found = _STRANGE.search(text)
    if not found:
        return None
    name = _NAMES.get(found[0]) or unicodedata.name(found[0], "control character")
    return _strange(found, f"{name} (U+{ord(found[0]):04X}) is not allowed", _instead(found[0]))


def _strange(found: re.Match[str], message: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": "expression", "reason": f"has an invalid character: {message}"}
    return Fault("BAD_CHARACTER", message, found.start(), found.end(), hint, details)


def _instead(char: str) -> str:
    """Return the hint for an invalid character, which often resembles a valid one."""
    category = unicodedata.category(char)
    if char in "\r\n":
        return "write the schedule on one line"
    if char.isspace():
        return "write a space"
    if category in ("Cc", "Cf"):
        return "remove it"
    plain = unicodedata.normalize("NFKC", char)
    if category == "Nd":
        plain = str(unicodedata.decimal(char))
    elif category == "Pd" or char in _LOOKALIKES:
        plain = _LOOKALIKES.get(char, "-")
    return f"write {plain}" if plain.isascii() else "write plain ASCII"


_LOOKALIKES = {"−": "-", "∗": "*", "⁎": "*", "✱": "*", "٭": "*"}
_NAMES = {"\n": "line feed", "\r": "carriage return", "\ufeff": "byte order mark"}
