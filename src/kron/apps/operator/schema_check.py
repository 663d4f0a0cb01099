"""Schema check: what the API server refuses, the operator refuses too, also where an old server checks less.

It supports what the schema of a spec uses. A value of null counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kron.apps.operator.schema import Schema

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": (int, float),
}


def problem_of(schema: Schema, value: Any, path: str = "") -> str:
    """Return what a schema does not allow in a value; empty if it allows all of it."""
    return next(_problems(schema, value, path), "")


def _problems(schema: Schema, value: Any, path: str) -> Iterator[str]:
    """Yield a text for each part of a value that the schema does not allow."""
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and not _is_integer(value)):
        yield f"{path} is not of type {kind}"
    elif isinstance(value, dict):
        yield from _in_mapping(schema, value, path)
    elif isinstance(value, list):
        yield from _above(schema, "maxItems", len(value), path)
        for number, item in enumerate(value):
            yield from _problems(schema["items"], item, f"{path}[{number}]")
    elif isinstance(value, str):
        yield from _in_text(schema, value, path)
    elif kind == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path} is not between {schema['minimum']} and {schema['maximum']}"


def _in_mapping(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[str]:
    present = {name: item for name, item in value.items() if item is not None}
    yield from (f"{_inner(path, name)} is missing" for name in schema.get("required", ()) if name not in present)
    yield from _above(schema, "maxProperties", len(present), path)
    for name, item in present.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if inner:
            yield from _problems(inner, item, _inner(path, name))


def _in_text(schema: Schema, value: str, path: str) -> Iterator[str]:
    yield from _above(schema, "maxLength", len(value), path)
    if len(value) < schema.get("minLength", 0):
        yield f"{path} is empty"
    if value not in schema.get("enum", (value,)):
        yield f"{path} is not one of {', '.join(schema['enum'])}"
    if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
        yield f"{path} does not have the form of {schema['pattern']}"


def _above(schema: Schema, limit: str, size: int, path: str) -> Iterator[str]:
    if size > schema.get(limit, size):
        yield f"{path} has more than {schema[limit]} {'characters' if limit == 'maxLength' else 'items'}"


def _is_integer(value: object) -> bool:
    """Return whether JSON has an integer: 1.0 is one for an API server."""
    return not isinstance(value, bool) and (not isinstance(value, float) or value.is_integer())


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
