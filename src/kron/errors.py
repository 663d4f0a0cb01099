"""Errors: each has a stable code, a message, and a hint with the action that fixes the problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_SHOWN = 100  # characters; of a longer text, only the part around the place is shown


class KronError(Exception):
    """Base class of every error that Kron raises deliberately.

    Attributes:
        code: Stable identifier of the problem. It never changes; the wording of the message can change.
        message: The problem, with the offending value.
        hint: One action that fixes the problem; empty if there is none.
        details: Machine-readable facts about the problem.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", details: Mapping[str, object] | None = None) -> None:
        super().__init__(code, message)  # unpickling calls __init__ with these; the rest is in __dict__
        self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return report(self.code, self.message, None, self.hint)


class Place(NamedTuple):
    """Part of a text: the characters `text[start:end]`, and the file and line, or the field, that the text is from.

    Attributes:
        text: The whole line or text.
        start: Index of the first character.
        end: Index after the last character.
        source: File or field name; empty if the text has neither.
        line: Line number in the file, from 1; 0 if `source` is not a file.
    """

    text: str
    start: int
    end: int
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, as editors and compilers write it; the source alone if there is no line number."""
        return f"{self.source}:{self.line}:{self.start + 1}" if self.line else self.source

    def excerpt(self) -> str:
        """Return the text with carets under the place, shortened to 100 characters around it."""
        first = max(0, min(self.start - _SHOWN // 3, len(self.text) - _SHOWN))
        last = first + _SHOWN
        head, tail = ("…" if first else ""), ("…" if last < len(self.text) else "")
        lead = ("\t" if c == "\t" else " " * _width(c) for c in self.text[first : self.start])
        width = sum(map(_width, self.text[self.start : min(self.end, last)]))
        plain = "".join(c if c.isprintable() or c == "\t" else "�" for c in self.text[first:last])
        return f"  {head}{plain}{tail}\n  {' ' if head else ''}{''.join(lead)}{'^' * max(1, width)}"


class LanguageError(KronError):
    """Invalid text of a schedule or of a file of schedules: a KronError with the place of the problem.

    Attributes:
        place: Where in the text the problem is.
    """

    def __init__(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        hint: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(code, message, hint=hint, details=details)
        self.args = (code, message, place)
        self.place = place

    @property
    def span(self) -> tuple[int, int]:
        """Place of the problem in the text, as (start, end)."""
        return self.place.start, self.place.end

    def __str__(self) -> str:
        return report(self.code, self.message, self.place, self.hint)


def report(code: str, message: str, place: Place | None, hint: str = "", *, level: str = "error") -> str:
    """Format an error, warning or note as users see it: location, level, code, message, text excerpt and hint."""
    label = f"{place.label}: " if place and place.label else ""
    picture = [place.excerpt()] if place and place.text.strip() else []  # an empty text has no excerpt
    return "\n".join([f"{label}{level}[{code}]: {message}", *picture, *([f"  hint: {hint}"] if hint else [])])


def clip(text: str) -> str:
    """Shorten a text that a message quotes to 20 characters."""
    return text if len(text) <= 20 else text[:19] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is at most one edit away from `word`, ignoring case; empty if there is none."""
    wanted, size = word.casefold(), len(word)
    half = max(0, len(wanted) // 2 - 1)  # one edit leaves the first or the last letters unchanged
    first, last = wanted[:half], wanted[len(wanted) - half :]
    alike = ((k, k.casefold()) for k in known if -2 < len(k) - size < 2)
    close = [k for k, low in alike if (low.startswith(first) or low.endswith(last)) and _one_edit_apart(wanted, low)]
    return next((k for k in close if k.casefold() == wanted), close[0] if close else "")


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint that proposes the known word one edit away, or `otherwise` if there is none."""
    close = nearest(word, known)
    return f"did you mean '{close}'?" if close else otherwise


def _one_edit_apart(a: str, b: str) -> bool:
    """Return whether `a` equals `b`, or differs by one letter added, dropped, changed or swapped with its neighbor."""
    if len(a) > len(b):
        a, b = b, a
    i = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[i:] == b[i + 1 :]
    return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])


def _width(char: str) -> int:
    """Return how many terminal columns a character takes. An unprintable one is shown as U+FFFD, which takes one."""
    if char.isascii() or not char.isprintable():
        return 1
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
