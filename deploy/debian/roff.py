"""Text of manual pages: the few requests of roff that the pages need, and Markdown as the reference pages use it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_PART = re.compile(r"`([^`]*)`|\*\*([^*]+)\*\*")
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}
WIDTH = 78  # of the lines of a source
_RULE = re.compile(r"\|[-:| ]+\|")


def plain(text: str) -> str:
    """Return text with the characters that roff would interpret escaped."""
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in escaped.split("\n"))


def marked(text: str) -> str:
    """Return a Markdown paragraph: code and strong text are bold, links are their text."""
    text, result, position = _LINK.sub(r"\1", text), "", 0
    for match in _PART.finditer(text):
        strong = match[1] if match[1] is not None else match[2]
        result += f"{plain(text[position : match.start()])}\\fB{plain(strong)}\\fR"
        position = match.end()
    return result + plain(text[position:])


def section(title: str) -> str:
    """Return the beginning of a section."""
    return f'.SH "{plain(title.upper())}"'


def entry(term: str, text: str) -> str:
    """Return an entry of a list: a term, and the text next to it."""
    return f".TP\n{term}\n{text or chr(92) + '&'}"


def example(lines: Iterable[str]) -> str:
    """Return lines that are printed as they are."""
    return "\n".join([".PP", ".in +4n", ".EX", *map(plain, lines), ".EE", ".in"])


def from_markdown(text: str) -> Iterator[str]:
    """Yield the requests of a Markdown text: headings, paragraphs, tables, lists and code blocks."""
    lines = iter([*text.split("\n"), ""])
    paragraph: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(("#", "|", "```", "- ", "!!!")):
            paragraph.append(line.strip())
            continue
        if paragraph:
            yield f".PP\n{marked(' '.join(paragraph))}"
            paragraph = []
        if line.startswith("## "):
            yield section(line[3:])
        elif line.startswith("```"):
            yield example(iter(lambda: next(lines), "```"))
        elif line.startswith("|"):
            rows = [line, *iter(lambda: next(lines), "")]
            yield from map(_row, [row for row in rows[1:] if not _RULE.fullmatch(row)])
        elif line.startswith("- "):
            yield f".IP \\(bu 2\n{marked(line[2:])}"


def _row(row: str) -> str:
    term, *cells = [cell.strip() for cell in row.strip("|").split("|")]
    required = " Required." if "yes" in cells[:-1] else ""
    return entry(marked(term), f"{marked(cells[-1])}.{required}")


def joined(parts: Iterable[str]) -> str:
    """Return the source of a page: lines of text are filled, and no paragraph begins twice."""
    lines, is_example = list[str](), False
    for line in "\n".join(parts).split("\n"):
        is_example = (is_example or line == ".EX") and line != ".EE"
        if line == ".PP" and lines and lines[-1].startswith((".SH", ".SS")):
            continue
        is_text = not is_example and not line.startswith(".")
        filled = wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False) if is_text else [line]
        lines += [f"\\&{part}" if is_text and part.startswith(".") else part for part in filled]
    return "\n".join(lines) + "\n"
