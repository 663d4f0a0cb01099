"""Console output: results on stdout, everything else on stderr, color only on terminals."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from kron.apps.visible import visible, visible_json
from kron.errors import KronError, LanguageError, Place, report

_COLOUR_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Screen:
    """The output and error streams of a command."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out, self.err = out, err
        self._mark = os.urandom(4).hex()  # unknown to text from other sources, so only `paint` can produce colors

    @property
    def width(self) -> int:
        """Maximum width of a chart, in columns."""
        return min(shutil.get_terminal_size((80, 24)).columns, 120)

    def line(self, text: str = "") -> None:
        """Print a line of the result. Control characters are shown in escaped form."""
        self._print(self.out, visible(text))

    def note(self, text: str) -> None:
        """Print a line to stderr. The command continues if the line cannot be written, for example on a full disk."""
        with suppress(OSError):
            self._print(self.err, visible(text))

    def block(self, text: str, stream: TextIO | None = None) -> None:
        """Print several lines that Kron itself generated, to stdout or to `stream`."""
        for line in text.split("\n"):
            self._print(stream or self.out, visible(line))

    def json(self, value: Any) -> None:
        """Print the result as JSON."""
        print(visible_json(json.dumps(value, indent=2, ensure_ascii=False)), file=self.out)

    def error(self, error: KronError) -> None:
        """Print an error to stderr."""
        self.block(self.paint_report(self.err, describe(error)), self.err)

    def finding(self, level: str, code: str, message: str, place: Place, hint: str) -> None:
        """Print a warning or note as part of the result."""
        self.block(self.paint_report(self.out, report(code, message, place, hint, level=level)))

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows in columns that are as wide as their content.

        A row can be shorter than the head. Its last cell then extends over the remaining columns.
        """
        lines = [list(head), *([visible(cell) for cell in row] for row in rows)]
        widths = [0] * len(head)
        for line in lines:
            for column, cell in enumerate(line if len(line) == len(head) else line[:-1]):
                widths[column] = max(widths[column], len(cell))
        for number, line in enumerate(lines):
            text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
            self.line(self.paint(self.out, "dim", text) if number == 0 else text)

    def paint(self, stream: TextIO, colour: str, text: str) -> str:
        """Return the text in a color if the stream is a terminal that supports color, else the text unchanged."""
        mark = f"\ufdd0{self._mark}"
        return f"{mark}{_COLOUR_CODES[colour]}m{visible(text)}{mark}0m" if text and colourful(stream) else text

    def _print(self, stream: TextIO, text: str) -> None:
        print(text.replace(f"\ufdd0{self._mark}", "\x1b["), file=stream)

    def paint_report(self, stream: TextIO, text: str) -> str:
        """Return a diagnostic with its first line and its carets in the color of its level."""
        if not colourful(stream):
            return text
        head, *rest = text.split("\n")
        colour = "red" if "error[" in head else "yellow" if "warning[" in head else "cyan"
        painted = [self.paint(stream, colour, line) if set(line) <= {" ", "\t", "^"} else line for line in rest]
        return "\n".join([self.paint(stream, colour, head), *painted])


def describe(error: KronError) -> str:
    """Return an error as text, with its hint, and with its place if it has one."""
    if isinstance(error, LanguageError):
        return str(error)
    hint = f"\n  hint: {visible(error.hint)}" if error.hint else ""
    return f"error[{error.code}]: {visible(error.message)}{hint}"


def colourful(stream: TextIO) -> bool:
    """Return whether to use color: only on a terminal, and not if NO_COLOR is set or TERM is `dumb`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
