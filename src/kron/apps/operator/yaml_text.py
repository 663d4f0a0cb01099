"""YAML of manifests, without a YAML package: mappings and lists in block form, texts quoted where YAML needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_LINE_FEED = "\n"
_PLAIN = re.compile(r"\.?[A-Za-z][A-Za-z0-9./-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})
# Characters that YAML does not allow, or that it reads as the end of a line.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def to_yaml(value: dict[str, Any]) -> str:
    """Return a manifest as one YAML document."""
    return "\n".join(_lines(value, "")) + "\n"


def to_documents(values: Iterable[dict[str, Any]]) -> str:
    """Return manifests as YAML documents of one file."""
    return "---\n".join(map(to_yaml, values))


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _item(f"{indent}{_scalar(key)}:", item, f"{indent}  ")
    elif isinstance(value, list) and value:
        for item in value:
            if isinstance(item, str):
                yield from _item(f"{indent}-", item, f"{indent}  ")
                continue
            first, *rest = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{indent}{_scalar(value)}"


def _item(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list) and item:
        yield head
        yield from _lines(item, indent)
    elif isinstance(item, str) and _is_block(item):
        yield f"{head} {'|' if item.endswith(_LINE_FEED) else '|-'}"
        yield from (f"{indent}{line}" if line else "" for line in item.removesuffix(_LINE_FEED).split(_LINE_FEED))
    else:
        yield f"{head} {_scalar(item)}"


def _is_block(text: str) -> bool:
    """Return whether a text can be a literal block: lines of printable characters that begin without a space."""
    lines = text.split(_LINE_FEED)
    is_plain = all(line == line.rstrip() and line.isprintable() and not _ESCAPED.search(line) for line in lines)
    return len(lines) > 1 and lines[0][:1].strip() != "" and not text.endswith("\n\n") and is_plain


def _scalar(value: Any) -> str:
    """Return a value on one line. JSON is a subset of YAML, so a quoted text is a JSON text."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
