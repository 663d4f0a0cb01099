"""Fault: a problem with a part of a text, before the position of the part in the whole text is known."""

from __future__ import annotations

from kron.errors import LanguageError, Place


class Fault(Exception):
    """Internal parse error. Each parser that it passes through adds the offset of its own part."""

    def __init__(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        hint: str = "",
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.start, self.end, self.details = start, end, details or {}

    def at(self, start: int, end: int) -> Fault:
        """Return the same fault at another position."""
        return Fault(self.code, self.message, start, end, self.hint, self.details)

    def moved(self, by: int) -> Fault:
        """Return the same fault, relative to a text that contains this text at the offset `by`."""
        return self.at(self.start + by, self.end + by)

    def within(self, text: str, source: str = "", line: int = 0) -> LanguageError:
        """Return the LanguageError to raise for the whole text."""
        place = Place(text, self.start, self.end, source, line)
        return LanguageError(self.code, self.message, place, hint=self.hint, details=self.details)
