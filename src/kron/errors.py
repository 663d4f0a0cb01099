"""What Kron answers instead of a result: a stable code, the reason, and what would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_SHOWN = 100  # of a longer text, the part around the place


class KronError(Exception):
    """The root of every error Kron raises on purpose. `code` never changes; the wording may."""

    def __init__(self, code: str, message: str, *, hint: str = "", details: Mapping[str, object] | None = None) -> None:
        super().__init__(code, message)  # what unpickling calls it with; the rest is in __dict__
        self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return report(self.code, self.message, None, self.hint)


class Place(NamedTuple):
    """A stretch of a text, by character: `text[start:end]`, and the file and line, or the field, it came from."""

    text: str
    start: int
    end: int
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, as editors and compilers write it; empty for a text without a file."""
        return f"{self.source}:{self.line}:{self.start + 1}" if self.line else self.source

    def picture(self) -> str:
        """The text with a caret under the place, cut to what a person can take in."""
        first = max(0, min(self.start - _SHOWN // 3, len(self.text) - _SHOWN))
        last = first + _SHOWN
        head, tail = ("…" if first else ""), ("…" if last < len(self.text) else "")
        lead = ("\t" if c == "\t" else " " * _width(c) for c in self.text[first : self.start])
        width = sum(map(_width, self.text[self.start : min(self.end, last)]))
        plain = "".join(c if c.isprintable() or c == "\t" else "�" for c in self.text[first:last])
        return f"  {head}{plain}{tail}\n  {' ' if head else ''}{''.join(lead)}{'^' * max(1, width)}"


class LanguageError(KronError):
    """A text that does not say a schedule: where, why, and what would do."""

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
        """Where in the text, as (start, end)."""
        return self.place.start, self.place.end

    def __str__(self) -> str:
        return report(self.code, self.message, self.place, self.hint)


def report(code: str, message: str, place: Place | None, hint: str = "", *, level: str = "error") -> str:
    """An error, warning or note in the words and the picture that people see."""
    label = f"{place.label}: " if place and place.label else ""
    picture = [place.picture()] if place and place.text.strip() else []  # of nothing there is no picture
    return "\n".join([f"{label}{level}[{code}]: {message}", *picture, *([f"  hint: {hint}"] if hint else [])])


def clip(text: str) -> str:
    """A quoted text, no longer than a message can bear."""
    return text if len(text) <= 20 else text[:19] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """Which known word lies at most one edit away; empty when none does. Case does not count."""
    wanted, size = word.casefold(), len(word)
    half = max(0, len(wanted) // 2 - 1)  # one edit leaves the first letters as they were, or the last
    first, last = wanted[:half], wanted[len(wanted) - half :]
    alike = ((k, k.casefold()) for k in known if -2 < len(k) - size < 2)
    close = [k for k, low in alike if (low.startswith(first) or low.endswith(last)) and _one_edit_apart(wanted, low)]
    return next((k for k in close if k.casefold() == wanted), close[0] if close else "")


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint: the known word one edit away, or else what is allowed."""
    close = nearest(word, known)
    return f"did you mean {close}?" if close else otherwise


def _one_edit_apart(a: str, b: str) -> bool:
    """Whether one letter added, dropped, changed or swapped with its neighbour makes `a` into `b`, or none does."""
    if len(a) > len(b):
        a, b = b, a
    i = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[i:] == b[i + 1 :]
    return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])


def _width(char: str) -> int:
    """How many columns of a terminal a character takes; one that cannot be shown is shown as another."""
    if char.isascii() or not char.isprintable():
        return 1
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
