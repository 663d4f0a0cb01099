"""YAML of a manifest, without a YAML package: mappings and lists in block form, texts quoted where YAML needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"\.?[A-Za-z][A-Za-z0-9./-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})


def to_yaml(value: dict[str, Any]) -> str:
    """Return a manifest as one YAML document."""
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _item(f"{indent}{_scalar(key)}:", item, f"{indent}  ")
    elif isinstance(value, list) and value:
        for item in value:
            first, *rest = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{indent}{_scalar(value)}"


def _item(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list) and item:
        yield head
        yield from _lines(item, indent)
    else:
        yield f"{head} {_scalar(item)}"


def _scalar(value: Any) -> str:
    """Return a value on one line. JSON is a subset of YAML, so a quoted text is a JSON text."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    return json.dumps(value, ensure_ascii=False)
