"""Labels: key-value pairs of a schedule, by which lists and bulk actions select."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from kron.errors import InvalidInput, clip

Labels = tuple[tuple[str, str], ...]  # ordered by key

MAX_LABELS = 32
MAX_KEY_LENGTH = 63
MAX_VALUE_LENGTH = 255
_KEY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?", re.ASCII)
_KEY_HINT = f"use up to {MAX_KEY_LENGTH} letters, digits and . _ / - in a key, such as example.com/team"


def labels_of(values: Mapping[str, str]) -> Labels:
    """Return labels ordered by key.

    Raises:
        InvalidInput: `values` is not a mapping, there are too many labels, or a key or a value is not valid.
    """
    if not isinstance(values, Mapping):
        raise _bad_labels(f"{clip(repr(values))} is not keys and values", _mapping_hint(values))
    if len(values) > MAX_LABELS:
        raise _bad_labels(f"{len(values)} labels are more than {MAX_LABELS}", "keep the labels that you select by")
    for key, value in values.items():
        if not isinstance(key, str) or len(key) > MAX_KEY_LENGTH or not _KEY.fullmatch(key):
            raise _bad_labels(f"{clip(str(key))!r} is not a valid key", _KEY_HINT)
        if not isinstance(value, str):
            raise _bad_labels(
                f"the value of {key!r} is not a text", f'write it as a text: "{key}": "{clip(str(value))}"'
            )
        if len(value) > MAX_VALUE_LENGTH or not (value.isprintable() or not value):
            hint = f"use up to {MAX_VALUE_LENGTH} printable characters"
            raise _bad_labels(f"the value of {key!r} is too long, or has a character that is not printable", hint)
    return label_tuple(values)


def _mapping_hint(values: object) -> str:
    """Return what to write for labels that are not a mapping; a text `key=value` keeps its key and its value."""
    key, equals, value = values.partition("=") if isinstance(values, str) else ("", "", "")
    pair = (key, value) if equals else ("team", "billing")
    return f'write labels as a mapping: {{"{clip(pair[0])}": "{clip(pair[1])}"}}'


def selector_of(text: str) -> str:
    """Return the label `key=value` that a selector names.

    Raises:
        InvalidInput: The text is not a key and a value.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise _bad_labels(f"{clip(text)!r} has no value", f"write {clip(key) or 'key'}=value")
    labels_of({key: value})
    return text


def label_tuple(values: Mapping[str, str]) -> Labels:
    """Return labels ordered by key, without a check."""
    return tuple(sorted(values.items()))


@lru_cache(16_384)
def label_text(labels: Labels) -> str | None:
    """Return labels as a JSON object; None without labels."""
    return json.dumps(dict(labels), separators=(",", ":")) if labels else None


def _bad_labels(reason: str, hint: str) -> InvalidInput:
    return InvalidInput("BAD_FIELD", f"invalid field labels: {reason}", hint=hint, details={"field": "labels"})
