"""Quotes and escapes: `"a b"`, `\\"`, and `\\ ` outside of quotes."""

from __future__ import annotations

from kron.language.fields import Fault, Token


def body_end(text: str, start: int) -> int:
    """Where the parenthesis that was opened before `start` closes."""
    quoted, at = False, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted and char == ")":
            return at
        elif not quoted and char.isspace():
            hint = "put it in double quotes, or write a backslash before it"
            raise Fault("UNESCAPED_SPACE", "there is a space inside the parentheses", at, at + 1, hint)
        at += 1
    if quoted:
        raise Fault("UNCLOSED_QUOTE", "a double quote is never closed", start - 1, len(text), 'add the closing "')
    raise Fault("UNCLOSED_MODIFIER", "a parenthesis is never closed", start - 1, len(text), "add the closing )")


def split(text: str, separator: str = ",") -> list[Token]:
    """The parts of a text between separators that are neither quoted nor escaped."""
    if '"' not in text and "\\" not in text:
        parts, at = [], 0
        for part in text.split(separator):
            parts.append(Token(part, at))
            at += len(part) + 1
        return parts
    cuts, quoted, escaped = [-1], False, False
    for at, char in enumerate(text):
        if escaped or char == "\\":
            escaped = not escaped
        elif char == '"':
            quoted = not quoted
        elif char == separator and not quoted:
            cuts.append(at)
    return [Token(text[a + 1 : b], a + 1) for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def unquote(text: str) -> str:
    """What a text stands for, without its quotes and escapes."""
    if '"' not in text and "\\" not in text:
        return text
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    inner = text[1:-1] if quoted else text
    out, escaped = list[str](), False
    for at, char in enumerate(inner):
        if not escaped and char == "\\":
            escaped = True
        elif not escaped and char == '"':
            at += quoted
            raise Fault("STRAY_QUOTE", "a double quote stands inside a value", at, at + 1, 'write \\" for a quote')
        else:
            out.append(char)
            escaped = False
    if escaped:
        raise Fault(
            "STRAY_ESCAPE",
            "a backslash ends the value",
            len(text) - 1,
            len(text),
            "write \\\\ for a backslash",
        )
    return "".join(out)


def quote(text: str) -> str:
    """A text as a value: as it is where that is safe, in double quotes otherwise."""
    if text and all(char.isascii() and (char.isalnum() or char in "_-./:@%+") for char in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
