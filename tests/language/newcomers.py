"""Texts that newcomers write: what each dialect answers, and what is accepted after the hint is followed.

`tests/language/data/newcomers.txt` has one block per text, separated by blank lines. A block starts with remarks
(`# `) and the text (`| `). Then each dialect has its answer: `accepted` with the meaning, or the code with the hints
and, after `then`, the text that the hint leads to.

To add a text, write its line. To write what the code answers now, and to review the difference:

    python -m tests.language.newcomers --write && git diff tests/language/data
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from kron.errors import KronError, LanguageError
from kron.language.auto import read_by_all
from kron.language.dialect import AUTO, TABLE
from kron.language.door import PYTHON
from kron.language.english import describe
from kron.language.options import Options
from kron.language.reading import Reading, read, zone_of
from kron.timing.schedule import Schedule

FILE = Path(__file__).parent / "data" / "newcomers.txt"
IDENTITY = "o/r/w.md"
NOW = 1_767_225_600  # 2026-01-01T00:00:00Z
_WRITE = re.compile(r"write (.+)|did you mean '(.+)'\?")


class Block(NamedTuple):
    """Remarks and the text of a block, and the answers that the file has."""

    remarks: tuple[str, ...]
    text: str
    answers: str


def blocks() -> list[Block]:
    """Return the blocks of the file."""
    return [_block(part.split("\n")) for part in FILE.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")]


def _block(lines: list[str]) -> Block:
    remarks = tuple(line for line in lines if line.startswith("# "))
    (text,) = (line[2:] for line in lines if line.startswith("| "))
    return Block(remarks, text, "\n".join(lines[len(remarks) + 1 :]))


def read_as(text: str, dialect: str, zone: str = "UTC") -> Reading:
    """Read a text in a dialect of the table, or by all of them."""
    options = Options(zone_of(zone), identity=IDENTITY)
    if dialect == AUTO:
        return read_by_all(text, options, NOW, default="kron", door=PYTHON)
    return read(text, dialect, options)


def answers(text: str) -> str:
    """Return what every dialect answers now."""
    return "\n".join(line for dialect in (*TABLE, AUTO) for line in _answer(text, dialect))


def _answer(text: str, dialect: str) -> list[str]:
    try:
        return [f"{dialect:8} accepted: {_meaning(read_as(text, dialect), dialect == AUTO)}"]
    except LanguageError as error:
        hints = [f"{'':8} hint: {hint}" for hint in error.hint.split("\n")]
        return [f"{dialect:8} {error.code}", *hints, f"{'':8} then: {followed(text, dialect, error)}"]
    except KronError as error:
        return [f"{dialect:8} {error.code}", f"{'':8} hint: {error.hint}"]


def _meaning(reading: Reading, named: bool) -> str:
    return f"{reading.dialect}, {describe(reading.schedule)}" if named else describe(reading.schedule)


def followed(text: str, dialect: str, error: LanguageError) -> str:
    """Return what is accepted after the hint is followed; `-` if the hint names nothing that is accepted."""
    for new_text, new_dialect, zone in _attempts(text, dialect, error):
        schedule = _accepted(new_text, new_dialect, zone)
        if schedule is not None:
            return f"{new_dialect}, {new_text}: {describe(schedule)}"
    return "-"


def _attempts(text: str, dialect: str, error: LanguageError) -> list[tuple[str, str, str]]:
    advice = error.details.get("write")
    if isinstance(advice, dict):
        return [(advice["text"], advice["dialect"], advice.get("timezone", "UTC"))]
    read_by = error.details.get("read_by")
    if isinstance(read_by, list):
        return [(text, read_by[0], "UTC")]
    match = _WRITE.match(error.hint)
    if not match:
        return []
    word, (start, end) = match[1] or match[2], error.span
    return [(word, dialect, "UTC"), (text[:start] + word + text[end:], dialect, "UTC")]


def _accepted(text: str, dialect: str, zone: str) -> Schedule | None:
    try:
        return read_as(text, dialect, zone).schedule
    except KronError:
        return None


def write() -> None:
    """Write the file again, with what the dialects answer now."""
    parts = ("\n".join([*block.remarks, f"| {block.text}", answers(block.text)]) for block in blocks())
    FILE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
