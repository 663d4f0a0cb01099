"""Markdown for generated pages."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NOTE = "<!-- Written by `make docs`. Change the source or tests/docs/reference instead. -->"


def texts(name: str = "texts") -> dict[str, Any]:
    """Return the meanings of a file of this folder."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; `:` at the end of a head aligns the column to the right."""
    heads = list(head)
    lines = [_row(each.rstrip(":") for each in heads), _row("---:" if each.endswith(":") else "---" for each in heads)]
    return "\n".join([*lines, *(_row(row) for row in rows)]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def code(text: object) -> str:
    """Return a text as inline code; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a period."""
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
