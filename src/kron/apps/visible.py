"""Text from stores and networks, made safe to print on a terminal."""

from __future__ import annotations

import re

# Control characters (C0, DEL, C1), line and paragraph separators, and characters that change the text direction.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return the text on one line, with `\n`, `\x1b` or `\u202e` in place of what a terminal would act on."""
    return _UNSAFE.sub(_escaped, text) if not text.isascii() or not text.isprintable() else text


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape", "surrogatepass").decode("ascii")


def visible_json(text: str) -> str:
    """Return JSON text with such characters as JSON escapes; its own line feeds stay."""
    return _UNSAFE.sub(lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}", text)
