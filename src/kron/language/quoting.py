r"""Quotes and escapes: `"a b"`, `\"`, and `\ ` outside of quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.fault import Fault
from kron.language.tokens import Token

# No text matches in two ways, so the time is linear in its length. Only character sets are possessive (`*+`): Python
# before 3.11.5 matches possessive groups wrongly.
_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
_PROTECTED = rf"(?:\\.|{_QUOTED})"  # an escaped character or a quoted part
_BODY = re.compile(rf'[^\s"\\)]*+(?:{_PROTECTED}[^\s"\\)]*+)*', re.DOTALL)
WORD = rf'(?:[^ \t"\\]|{_PROTECTED})[^ \t"\\]*+(?:{_PROTECTED}[^ \t"\\]*+)*'
_WORDS = re.compile(WORD, re.DOTALL)
_PART = re.compile(rf'[^,"\\]*+(?:{_PROTECTED}[^,"\\]*+)*', re.DOTALL)
_CLOSED = re.compile(rf'[^"\\]*+(?:{_PROTECTED}[^"\\]*+)*', re.DOTALL)
_VALUE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*)"|([^"\\]*+(?:\\.[^"\\]*+)*)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SAFE = re.compile(r"[A-Za-z0-9_./:@%+-]+")


def body_end(text: str, start: int) -> int:
    """Return the index of the parenthesis that closes the one before `start`."""
    match = _BODY.match(text, start)
    end = match.end() if match else start
    if text[end : end + 1] == ")":
        return end
    if text[end : end + 1].isspace():
        noun = "space" if text[end] == " " else "whitespace"
        hint = "close the parenthesis before it, remove it, or put the value in double quotes"
        raise Fault("UNESCAPED_SPACE", f"unquoted {noun} inside the parentheses", end, end + 1, hint)
    if text[end : end + 1] == '"':
        raise _unclosed_quote(text, end)
    hint = "add the closing )" + (r"; \) is part of the value" if r"\)" in text[start:] else "")
    raise Fault("UNCLOSED_MODIFIER", "parenthesis is not closed", start - 1, len(text), hint)


def check_quotes(text: str) -> None:
    """Reject a text with an unclosed quote, or with a backslash at its end."""
    if '"' not in text and "\\" not in text:
        return
    match = _CLOSED.match(text)
    end = match.end() if match else 0
    if end < len(text):
        raise _unprotected_fault(text, end)


def spans(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each word from `start` on. Words are separated by unquoted spaces and tabs."""
    return (match.span() for match in _WORDS.finditer(text, start))


def split(text: str) -> Iterator[Token]:
    """Yield the parts of a text between commas that are neither quoted nor escaped."""
    position = 0
    while match := _PART.match(text, position):
        yield Token(match[0], position)
        position = match.end()
        if position == len(text):
            return
        if text[position] != ",":
            raise _unprotected_fault(text, position)
        position += 1


def unquote(text: str) -> str:
    """Return the value of a text, without its quotes and escapes."""
    if '"' not in text and "\\" not in text:
        return text
    match = _VALUE.match(text)
    end = match.end() if match else 0
    if match is None or end < len(text):
        raise _stray_fault(text, end)
    return "".join(_ESCAPED.split(match[1] if match[1] is not None else match[2]))


def remove_quotes(text: str) -> tuple[str, list[int]]:
    """Return a text without its quotes and escapes, and the original index of each character and of the end."""
    check_quotes(text)
    positions, is_escaped = list[int](), False
    for position, char in enumerate(text):
        if is_escaped or char not in '"\\':
            positions.append(position)
        is_escaped = char == "\\" and not is_escaped
    return "".join(text[position] for position in positions), [*positions, len(text)]


def quote(text: str) -> str:
    """Return a text as a value: unchanged if that is safe, in double quotes otherwise."""
    if _SAFE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _stray_fault(text: str, position: int) -> Fault:
    if text[0] == '"' and position:
        message, hint = "text after the closing quote", 'quote the whole value, and write \\" for a quote in it'
        return Fault("STRAY_QUOTE", message, position - 1, len(text), hint)
    if not position or text[position] == "\\":
        return _unprotected_fault(text, position)
    return Fault(
        "STRAY_QUOTE", "double quote inside an unquoted value", position, position + 1, 'write \\" for a quote'
    )


def _unprotected_fault(text: str, position: int) -> Fault:
    """Return the fault at `position`: an unclosed quote, or a backslash at the end."""
    return _unclosed_quote(text, position) if text[position] == '"' else _trailing_backslash(position)


def _unclosed_quote(text: str, start: int) -> Fault:
    hint = 'add the closing "' + (r"; \" is part of the value" if r"\"" in text[start:] else "")
    return Fault("UNCLOSED_QUOTE", "double quote is not closed", start, len(text), hint)


def _trailing_backslash(position: int) -> Fault:
    return Fault("STRAY_ESCAPE", "value ends with a backslash", position, position + 1, "write \\\\ for a backslash")
