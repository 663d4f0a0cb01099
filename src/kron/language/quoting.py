r"""Quotes and escapes: `"a b"`, `\"`, and `\ ` outside of quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.fault import Fault
from kron.language.words import Token

# Possessive throughout (`*+`, `++`): nothing is tried twice, so no text takes longer than its length.
_SHELTERED = r'\\.|"(?:[^"\\]++|\\.)*+"'  # an escaped character, a quoted stretch
_BODY = re.compile(rf'(?:[^\s"\\)]++|{_SHELTERED})*+', re.DOTALL)
WORD = rf'(?:[^ \t"\\]++|{_SHELTERED})++'
_WORDS = re.compile(WORD, re.DOTALL)
_PART = re.compile(rf'(?:[^,"\\]++|{_SHELTERED})*+', re.DOTALL)
_SOUND = re.compile(rf'(?:[^"\\]++|{_SHELTERED})*+', re.DOTALL)
_VALUE = re.compile(r'"((?:[^"\\]++|\\.)*+)"|((?:[^"\\]++|\\.)*+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SAFE = re.compile(r"[A-Za-z0-9_./:@%+-]+")


def body_end(text: str, start: int) -> int:
    """Where the parenthesis that was opened before `start` closes."""
    match = _BODY.match(text, start)
    at = match.end() if match else start
    if text[at : at + 1] == ")":
        return at
    if text[at : at + 1].isspace():
        what = "a space" if text[at] == " " else "whitespace"
        hint = "close the parenthesis before it, take it out, or put the value in double quotes"
        raise Fault("UNESCAPED_SPACE", f"there is {what} inside the parentheses", at, at + 1, hint)
    if text[at : at + 1] == '"':
        raise _unclosed(text, at)
    hint = "add the closing )" + (r", for \) is part of the value" if r"\)" in text[start:] else "")
    raise Fault("UNCLOSED_MODIFIER", "a parenthesis is never closed", start - 1, len(text), hint)


def check(text: str) -> None:
    """Refuse a text in which a quote is never closed, or that ends in a backslash."""
    match = _SOUND.match(text)
    at = match.end() if match else 0
    if at < len(text):
        raise _unsheltered(text, at)


def spans(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where the words begin and end, from `start` on: between spaces and tabs neither quoted nor escaped."""
    return (found.span() for found in _WORDS.finditer(text, start))


def split(text: str) -> Iterator[Token]:
    """The parts of a text between commas that are neither quoted nor escaped."""
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
    """What a text stands for, without its quotes and escapes."""
    if '"' not in text and "\\" not in text:
        return text
    match = _VALUE.match(text)
    at = match.end() if match else 0
    if match is None or at < len(text):
        raise _stray(text, at)
    return "".join(_ESCAPED.split(match[1] if match[1] is not None else match[2]))


def bare(text: str) -> tuple[str, list[int]]:
    """A text without any of its quotes and escapes, and where each character of the rest stood, and the end."""
    check(text)
    places, escaped = list[int](), False
    for at, char in enumerate(text):
        if escaped or char not in '"\\':
            places.append(at)
        escaped = char == "\\" and not escaped
    return "".join(text[at] for at in places), [*places, len(text)]


def quote(text: str) -> str:
    """A text as a value: as it is where that is safe, in double quotes otherwise."""
    if _SAFE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _stray(text: str, at: int) -> Fault:
    if text[0] == '"' and at:
        message, hint = "something follows the closing quote", 'quote the whole value, and write \\" for a quote in it'
        return Fault("STRAY_QUOTE", message, at - 1, len(text), hint)
    if not at or text[at] == "\\":
        return _unsheltered(text, at)
    return Fault("STRAY_QUOTE", "a double quote stands inside a value", at, at + 1, 'write \\" for a quote')


def _unsheltered(text: str, at: int) -> Fault:
    """What opens at `at` and shelters nothing: a quote without its partner, or the last backslash."""
    return _unclosed(text, at) if text[at] == '"' else _dangling(at)


def _unclosed(text: str, at: int) -> Fault:
    hint = 'add the closing "' + (r", for \" is part of the value" if r"\"" in text[at:] else "")
    return Fault("UNCLOSED_QUOTE", "a double quote is never closed", at, len(text), hint)


def _dangling(at: int) -> Fault:
    return Fault("STRAY_ESCAPE", "a backslash ends the value", at, at + 1, "write \\\\ for a backslash")
