r"""Quotes and escapes: `"a b"`, `\"`, and `\ ` outside of quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.fault import Fault
from kron.language.tokens import Token

# All quantifiers are possessive (`*+`, `++`): there is no backtracking, so the time is linear in the text length.
_SHELTERED = r'\\.|"(?:[^"\\]++|\\.)*+"'  # an escaped character or a quoted part
_BODY = re.compile(rf'(?:[^\s"\\)]++|{_SHELTERED})*+', re.DOTALL)
WORD = rf'(?:[^ \t"\\]++|{_SHELTERED})++'
_WORDS = re.compile(WORD, re.DOTALL)
_PART = re.compile(rf'(?:[^,"\\]++|{_SHELTERED})*+', re.DOTALL)
_SOUND = re.compile(rf'(?:[^"\\]++|{_SHELTERED})*+', re.DOTALL)
_VALUE = re.compile(r'"((?:[^"\\]++|\\.)*+)"|((?:[^"\\]++|\\.)*+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SAFE = re.compile(r"[A-Za-z0-9_./:@%+-]+")


def body_end(text: str, start: int) -> int:
    """Return the index of the parenthesis that closes the one before `start`."""
    match = _BODY.match(text, start)
    at = match.end() if match else start
    if text[at : at + 1] == ")":
        return at
    if text[at : at + 1].isspace():
        what = "space" if text[at] == " " else "whitespace"
        hint = "close the parenthesis before it, remove it, or put the value in double quotes"
        raise Fault("UNESCAPED_SPACE", f"unquoted {what} inside the parentheses", at, at + 1, hint)
    if text[at : at + 1] == '"':
        raise _unclosed(text, at)
    hint = "add the closing )" + (r"; \) is part of the value" if r"\)" in text[start:] else "")
    raise Fault("UNCLOSED_MODIFIER", "parenthesis is not closed", start - 1, len(text), hint)


def check(text: str) -> None:
    """Reject a text with an unclosed quote, or with a backslash at its end."""
    match = _SOUND.match(text)
    at = match.end() if match else 0
    if at < len(text):
        raise _unsheltered(text, at)


def spans(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each word from `start` on. Words are separated by unquoted spaces and tabs."""
    return (found.span() for found in _WORDS.finditer(text, start))


def split(text: str) -> Iterator[Token]:
    """Yield the parts of a text between commas that are neither quoted nor escaped."""
    at = 0
    while match := _PART.match(text, at):
        yield Token(match[0], at)
        at = match.end()
        if at == len(text):
            return
        if text[at] != ",":
            raise _unsheltered(text, at)
        at += 1


def unquote(text: str) -> str:
    """Return the value of a text, without its quotes and escapes."""
    if '"' not in text and "\\" not in text:
        return text
    match = _VALUE.match(text)
    at = match.end() if match else 0
    if match is None or at < len(text):
        raise _stray(text, at)
    return "".join(_ESCAPED.split(match[1] if match[1] is not None else match[2]))


def bare(text: str) -> tuple[str, list[int]]:
    """Return a text without its quotes and escapes, and the original index of each character and of the end."""
    check(text)
    places, escaped = list[int](), False
    for at, char in enumerate(text):
        if escaped or char not in '"\\':
            places.append(at)
        escaped = char == "\\" and not escaped
    return "".join(text[at] for at in places), [*places, len(text)]


def quote(text: str) -> str:
    """Return a text as a value: unchanged if that is safe, in double quotes otherwise."""
    if _SAFE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _stray(text: str, at: int) -> Fault:
    if text[0] == '"' and at:
        message, hint = "text after the closing quote", 'quote the whole value, and write \\" for a quote in it'
        return Fault("STRAY_QUOTE", message, at - 1, len(text), hint)
    if not at or text[at] == "\\":
        return _unsheltered(text, at)
    return Fault("STRAY_QUOTE", "double quote inside an unquoted value", at, at + 1, 'write \\" for a quote')


def _unsheltered(text: str, at: int) -> Fault:
    """Return the fault at `at`: an unclosed quote, or a backslash at the end."""
    return _unclosed(text, at) if text[at] == '"' else _dangling(at)


def _unclosed(text: str, at: int) -> Fault:
    hint = 'add the closing "' + (r"; \" is part of the value" if r"\"" in text[at:] else "")
    return Fault("UNCLOSED_QUOTE", "double quote is not closed", at, len(text), hint)


def _dangling(at: int) -> Fault:
    return Fault("STRAY_ESCAPE", "value ends with a backslash", at, at + 1, "write \\\\ for a backslash")
