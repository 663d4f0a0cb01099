"""Payloads: the JSON value that a schedule carries to its target."""

from __future__ import annotations

import json
from typing import Any

from kron.errors import InvalidInput

MAX_PAYLOAD_BYTES = 64 * 1024  # bytes of the JSON text in UTF-8
MAX_DEPTH = 64


def payload_text(value: Any) -> str:
    """Return a payload as compact JSON. The keys of its objects keep their order.

    Raises:
        InvalidInput: The value is not JSON, is nested too deeply, or is too large.
    """
    if _depth(value) > MAX_DEPTH:
        raise _bad_payload(f"it is nested deeper than {MAX_DEPTH} levels", "use a flatter value")
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _bad_payload("a text contains half of a surrogate pair", "use valid Unicode") from None
    except (TypeError, ValueError) as error:
        hint = "use objects, lists, texts, finite numbers, true, false and null"
        raise _bad_payload(f"it is not JSON: {error}", hint) from None
    if size > MAX_PAYLOAD_BYTES:
        hint = f"use up to {MAX_PAYLOAD_BYTES:,} bytes, or the address of the data instead of the data"
        raise _bad_payload(f"it has {size:,} bytes as JSON", hint)
    if json.loads(text) != value:
        raise _bad_payload("it does not come back equal from JSON", "use texts as the keys of objects, and no tuples")
    return text


def _depth(value: Any) -> int:
    """Return how deeply a value is nested, without recursion; one more than `MAX_DEPTH` is enough to know."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [
            item
            for container in level
            if isinstance(container, dict | list | tuple)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        depth += 1
    return depth


def _bad_payload(reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"invalid field payload: {reason}", hint=hint, details={"field": "payload"})
