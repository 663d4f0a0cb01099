"""Kubernetes objects of a YAML or JSON text: several documents, and lists of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from kron.errors import InvalidInput, InvalidSetting
from kron.kube.kind import Body

MAX_JSON_LENGTH = 16 << 20  # characters of a document

# Integers and floats as Kubernetes reads them: 12:30 is a text, which YAML 1.1 reads as a number of base 60.
_NUMBERS = (
    ("tag:yaml.org,2002:int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
)
_REPLACED = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")


def read_objects(text: str, source: str) -> Iterator[Body]:
    """Yield the objects of a text. The items of a list are objects of their own.

    Args:
        text: YAML or JSON text. JSON needs no YAML package.
        source: Name of the file, for errors.

    Raises:
        InvalidInput: The text is neither YAML nor JSON, or a document is not an object.
        InvalidSetting: The text needs PyYAML, which is not installed.
    """
    for document in _documents(text, source):
        if document is not None:
            yield from _objects(document, source)


def _documents(text: str, source: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return _yaml_documents(text, source)
    except RecursionError:
        raise _bad_file(source, "it is nested too deeply") from None


def _yaml_documents(text: str, source: str) -> list[Any]:
    try:
        import yaml  # deferred, because PyYAML is an optional dependency
    except ImportError:
        hint = 'install it with: pip install "kron-py[yaml]", or use a JSON file'
        raise InvalidSetting("NEEDS_YAML", "reading YAML files needs PyYAML", hint=hint) from None
    try:
        documents = list(yaml.load_all(text, _loader()))
        return [_as_json(each) for each in documents]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise _bad_file(f"{source}{place}", str(getattr(error, "problem", None) or "it is not YAML")) from None
    except (ValueError, TypeError) as error:
        raise _bad_file(source, str(error)) from None
    except RecursionError:
        raise _bad_file(source, "it is nested too deeply") from None


def _as_json(document: Any) -> Any:
    """Return a document as JSON has it: keys are texts, and an alias is a copy.

    Raises:
        ValueError: A value is not one of JSON, or the copies are too large.
    """
    parts, size = list[str](), 0
    for part in json.JSONEncoder(allow_nan=False).iterencode(document):
        parts.append(part)
        size += len(part)
        if size > MAX_JSON_LENGTH:
            raise ValueError("its aliases make it too large")
    return json.loads("".join(parts))


@cache
def _loader() -> type[Any]:
    """Return a safe loader that reads times and numbers of base 60 as texts, as Kubernetes does."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012, an attribute of the library
            first: [each for each in resolvers if each[0] not in _REPLACED]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    for tag, pattern, first in _NUMBERS:
        Loader.add_implicit_resolver(tag, re.compile(pattern), list(first))
    return Loader


def _objects(document: Any, source: str) -> Iterator[Body]:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise _bad_file(source, "a document is not a Kubernetes object")
    items = document.get("items")
    if not document["kind"].endswith("List") or not isinstance(items, list):
        yield document
        return
    inherited = {"apiVersion": document.get("apiVersion"), "kind": document["kind"].removesuffix("List")}
    for item in items:
        if not isinstance(item, dict):
            raise _bad_file(source, "an item of a list is not an object")
        yield {**inherited, **item} if inherited["kind"] else item


def _bad_file(place: str, cause: str) -> InvalidInput:
    return InvalidInput("BAD_FILE", f"{place} cannot be read: {cause}", hint="use a file as kubectl apply -f takes it")
