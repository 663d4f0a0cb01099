"""Words: what stands between spaces and tabs, and the characters that no word of a cron line has."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import NamedTuple

from kron.language.fault import Fault

LONGEST = 65_536  # characters of a text

_WORD = re.compile(r"[^ \t]+")
_NOT_TEXT = re.compile(r"[\0\ud800-\udfff]")
_STRANGE = re.compile(r"[^\t -~]")


class Token(NamedTuple):
    """A word of the text and where it began."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ended."""
        return self.start + len(self.text)


def words(text: str) -> list[str]:
    """The words of a text between spaces and tabs."""
    return text.split() if text.isascii() and text.isprintable() else _WORD.findall(text)


def tokens(text: str, most: int | None = None) -> list[Token]:
    """The same words, or the first `most` of them, each with its place."""
    return [Token(found[0], found.start()) for found in islice(_WORD.finditer(text), most)]


def admit(text: str) -> None:
    """Refuse a text too long to be meant, and characters that cannot be written, or not kept by databases."""
    if len(text) > LONGEST:
        message, hint = f"the text has {len(text)} characters", f"write at most {LONGEST}"
        raise Fault("TOO_LONG", message, LONGEST, len(text), hint, {"field": "expression", "reason": "is too long"})
    if text.isascii() and "\0" not in text:
        return
    bad = _NOT_TEXT.search(text)
    if bad and bad[0] == "\0":
        raise _strange(bad, "a NUL (U+0000) stands here", "take it out")
    if bad:
        raise _strange(bad, "half of a character stands here", "write the text in UTF-8")


def strange(text: str) -> Fault | None:
    """The answer to the first character that fields cannot have, such as a word processor's dash or space."""
    found = _STRANGE.search(text)
    if not found:
        return None
    name = _NAMES.get(found[0]) or unicodedata.name(found[0], "a control character")
    return _strange(found, f"{name} (U+{ord(found[0]):04X}) stands here", _instead(found[0]))


def _strange(found: re.Match[str], message: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": "expression", "reason": f"has a character that is not allowed: {message}"}
    return Fault("BAD_CHARACTER", message, found.start(), found.end(), hint, details)


def _instead(char: str) -> str:
    """What to do about a character, which may be easily taken for another."""
    category = unicodedata.category(char)
    if char in "\r\n":
        return "a schedule is one line"
    if char.isspace():
        return "write a space"
    if category in ("Cc", "Cf"):
        return "take it out"
    plain = unicodedata.normalize("NFKC", char)
    if category == "Nd":
        plain = str(unicodedata.decimal(char))
    elif category == "Pd" or char in _LOOKALIKES:
        plain = _LOOKALIKES.get(char, "-")
    return f"write {plain}" if plain.isascii() else "write plain ASCII"


_LOOKALIKES = {"−": "-", "∗": "*", "⁎": "*", "✱": "*", "٭": "*"}
_NAMES = {"\n": "a line feed", "\r": "a carriage return", "\ufeff": "a byte order mark"}
