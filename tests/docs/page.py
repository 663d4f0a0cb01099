"""A page of documentation: its fenced blocks and its marked tables, in order."""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
APART = ("decisions", "spec")  # records and specifications have no examples to run
PAGES = sorted(
    [ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in APART)]
)

_FENCE = re.compile(
    r"^(?P<mark> *<!-- illustration: [^\n]+ -->\n)?(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A fenced block. The comment `<!-- illustration: REASON -->` before a block says that no test runs it."""

    language: str
    text: str
    line: int
    illustration: bool = False


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, also those in a list."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(m["language"], dedent(m["text"]), text.count("\n", 0, m.start("indent")) + 1, bool(m["mark"]))
        for m in _FENCE.finditer(text)
    ]


def table(path: Path, name: str) -> list[list[str]]:
    """The rows of the table after the comment `<!-- test: name -->`, without the head, backticks dropped."""
    text = path.read_text(encoding="utf-8")
    after = text.split(f"<!-- test: {name} -->\n", 1)[1]
    lines = [line for line in after.split("\n\n", 1)[0].splitlines() if line.startswith("|")]
    return [[_plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def _plain(cell: str) -> str:
    cell = cell.strip().replace("\\|", "|")
    return cell[1:-1] if cell.startswith("`") and cell.endswith("`") and cell.count("`") == 2 else cell
