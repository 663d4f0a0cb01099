"""The golden diagnostics: what every parser says to the texts that it refuses, word for word.

`tests/golden/diagnostics/<parser>.txt` holds cases apart by blank lines. A case is its input, then exactly
what `str(error)` prints. Lines of input begin with `| `; an input that cannot be shown plainly is one line
of JSON after `> `, where a list is joined and `[text, n]` in it is repeated. Lines before the input that
begin with `# ` are for the reader.

To add a case, write its input. To let the code write what it says now, and to review it as a diff:

    python -m tests.language.golden --write && git diff tests/golden
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kron.errors import KronError
from kron.language import parse
from kron.language.krontab import read_table
from kron.language.manifest import define
from kron.language.record import verify

FOLDER = Path(__file__).parents[1] / "golden" / "diagnostics"


@dataclass(frozen=True)
class Case:
    """An input as the file writes it, the remarks before it, and the answer that is expected."""

    parser: str
    remarks: tuple[str, ...]
    written: tuple[str, ...]
    expected: str

    @property
    def input(self) -> Any:
        if self.written[0].startswith("|"):
            return "\n".join(line[2:] for line in self.written)
        return _joined(json.loads(self.written[0][2:]))

    @property
    def answer(self) -> str:
        """What the parser says now."""
        return "\n".join(str(error) for error in PARSERS[self.parser](self.input))

    def __str__(self) -> str:
        return f"{self.parser}: {self.written[0][2:60]}"


def read(parser: str) -> list[Case]:
    """The cases of a parser's file."""
    return cases_of(FOLDER / f"{parser}.txt", parser)


def cases_of(path: Path, parser: str) -> list[Case]:
    """The cases of a file."""
    blocks = path.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")
    return [_case(parser, block.split("\n")) for block in blocks]


def write(parser: str) -> None:
    """The file again, with what the parser says now."""
    text = text_of((case, case.answer) for case in read(parser))
    (FOLDER / f"{parser}.txt").write_text(text, encoding="utf-8")


def text_of(answers: Iterable[tuple[Case, str]]) -> str:
    """The text of a file that has these cases with these answers."""
    return "\n\n".join("\n".join([*case.remarks, *case.written, answer]) for case, answer in answers) + "\n"


def _case(parser: str, lines: list[str]) -> Case:
    remarks = tuple(line for line in lines if line.startswith("# "))
    written = tuple(line for line in lines if line.startswith(("|", "> ")))
    return Case(parser, remarks, written, "\n".join(lines[len(remarks) + len(written) :]))


def _joined(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in value)


def _raised(call: Callable[[Any], object]) -> Callable[[Any], Iterator[KronError]]:
    def errors(given: Any) -> Iterator[KronError]:
        try:
            call(given)
        except KronError as error:
            yield error

    return errors


PARSERS: dict[str, Callable[[Any], Iterator[KronError]]] = {
    "posix": _raised(lambda text: parse(text, dialect="posix")),
    "service": _raised(lambda text: parse(text, dialect="service")),
    "kron": _raised(lambda text: parse(text, dialect="kron")),
    "plus": _raised(lambda text: parse(text, dialect="plus")),
    "table": lambda text: iter(read_table(text, "/etc/krontab").errors),
    "limits": lambda text: iter(read_table(text, "/etc/krontab").errors[-1:]),
    "definition": _raised(define),
    "record": _raised(verify),
    "options": _raised(lambda options: parse(**options)),
    "paths": _raised(lambda path: read_table("", path)),
}

if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for name in PARSERS:
        write(name)
