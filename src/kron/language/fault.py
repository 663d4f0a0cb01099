"""A Fault: what is wrong with a part of a text, before it is known where in the whole the part stood."""

from __future__ import annotations

from kron.errors import LanguageError, Place


class Fault(Exception):
    """An error on its way out: each reader that it passes adds where its own part began."""

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
        """The same, at another place."""
        return Fault(self.code, self.message, start, end, self.hint, self.details)

    def moved(self, by: int) -> Fault:
        """The same, seen from a text that holds this one at `by`."""
        return self.at(self.start + by, self.end + by)

    def within(self, text: str, source: str = "", line: int = 0) -> LanguageError:
        """The error to raise, now that the whole text is known."""
        place = Place(text, self.start, self.end, source, line)
        return LanguageError(self.code, self.message, place, hint=self.hint, details=self.details)
