"""Parser of YAML into a tree with the position of each value. The only module that imports PyYAML.

Only the events of PyYAML are used. They create no objects, expand no aliases and do not recurse; the C loader
overflows the stack on a text with many brackets. A plain `on` stays a text and does not become a boolean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kron.errors import InvalidSetting
from kron.language.fault import Fault

MAX_FILE_LENGTH = 4 << 20  # maximum length of a file, in characters
MAX_NESTING = 100


@dataclass(frozen=True, slots=True)
class Scalar:
    """Scalar value, and its position in the text, quotes included."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Alias:
    """Reference to a value elsewhere in the document."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Items:
    """Sequence."""

    items: tuple[Node, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Mapping, in the order of the text."""

    pairs: tuple[tuple[Node, Node], ...]
    start: int

    def get(self, key: str) -> list[tuple[Scalar, Node]]:
        """Return each occurrence of a key with its value. There is more than one if the text repeats the key."""
        return [(k, v) for k, v in self.pairs if isinstance(k, Scalar) and k.value == key]


Node = Scalar | Alias | Items | Pairs


def read_yaml(text: str) -> Node | None:
    """Parse the single document of a text; None if the document is empty."""
    if len(text) > MAX_FILE_LENGTH:
        raise Fault("TOO_LONG", f"the file has more than {MAX_FILE_LENGTH} characters", 0, 1, "use a workflow file")
    yaml = _library()
    bom_length = 1 if text.startswith("\ufeff") else 0  # the two parsers count it differently
    try:
        return _build_tree(_parse_events(yaml, text[bom_length:]), yaml, bom_length)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = min(mark.index + bom_length, max(0, len(text) - 1)) if mark else 0
        problem = getattr(error, "problem", None) or "the file has a character that YAML does not allow"
        raise Fault("NOT_YAML", f"invalid YAML: {problem}", position, position + 1, "fix the YAML here") from None


def _library() -> Any:
    try:
        import yaml  # deferred, because PyYAML is an optional dependency
    except ImportError:
        hint = 'install it with: pip install "kron-py[yaml]"'
        raise InvalidSetting("NEEDS_YAML", "reading workflow files needs PyYAML", hint=hint) from None
    return yaml


def _parse_events(yaml: Any, text: str) -> Iterator[Any]:
    events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return events


def _build_tree(events: Iterator[Any], yaml: Any, bom_length: int) -> Node | None:
    open_lists: list[tuple[type[Items | Pairs], int, list[Node]]] = []
    root: list[Node] = []
    for event in events:
        start, end = event.start_mark.index + bom_length, event.end_mark.index + bom_length
        siblings = open_lists[-1][2] if open_lists else root
        if isinstance(event, yaml.ScalarEvent):
            siblings.append(Scalar(event.value, start, end))
        elif isinstance(event, yaml.AliasEvent):
            siblings.append(Alias(start, end))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_lists) == MAX_NESTING:
                raise Fault("TOO_DEEP", f"more than {MAX_NESTING} levels of nesting", start, start + 1, "nest it less")
            open_lists.append((Items if isinstance(event, yaml.SequenceStartEvent) else Pairs, start, []))
        elif isinstance(event, yaml.CollectionEndEvent):
            kind, collection_start, nodes = open_lists.pop()
            collection = (
                Items(tuple(nodes), collection_start) if kind is Items else _build_pairs(nodes, collection_start)
            )
            (open_lists[-1][2] if open_lists else root).append(collection)
        elif isinstance(event, yaml.DocumentStartEvent) and root:
            raise Fault("TWO_DOCUMENTS", "unexpected second document", start, end, "use one workflow per file")
    return root[0] if root else None


def _build_pairs(nodes: list[Node], start: int) -> Pairs:
    return Pairs(tuple(zip(nodes[::2], nodes[1::2], strict=True)), start)
