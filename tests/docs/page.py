"""A page of documentation: its fenced blocks and its marked tables, in order."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
APART = ("decisions", "spec")  # records and specifications have no examples to run
PAGES = sorted(
    [ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in APART)]
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    language: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = path.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)]


def table(path: Path, name: str) -> list[list[str]]:
    """The rows of the table after the comment `<!-- test: name -->`, without the head, backticks dropped."""
    text = path.read_text(encoding="utf-8")
    after = text.split(f"<!-- test: {name} -->\n", 1)[1]
    lines = [line for line in after.split("\n\n", 1)[0].splitlines() if line.startswith("|")]
    return [[_plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def _plain(cell: str) -> str:
    cell = cell.strip().replace("\\|", "|")
    return cell[1:-1] if cell.startswith("`") and cell.endswith("`") and cell.count("`") == 2 else cell
