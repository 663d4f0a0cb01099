"""A Form: how values of one kind become rows or JSON, field by field, and how strictly they are read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
T = TypeVar("T")


class Form(Generic[T]):
    """The fields of a dataclass or a named tuple. What a field's annotation does not allow is a ValueError."""

    def __init__(self, kind: type[T]) -> None:
        self.kind = kind
        self.readers = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}

    def row(self, value: T) -> dict[str, Any]:
        """The fields by their names, as a database takes them."""
        found = {name: getattr(value, name) for name in self.readers}
        return {name: each.value if isinstance(each, StrEnum) else each for name, each in found.items()}

    def read(self, row: Sequence[Any]) -> T:
        """The value of a row that has the fields in their order."""
        return self.kind(*[read(each) for read, each in zip(self.readers.values(), row, strict=True)])

    def text(self, value: T) -> str:
        """The value as JSON with every field: equal values have equal texts."""
        found = {name: getattr(value, name) for name in self.readers}
        return json.dumps(found, separators=(",", ":"), sort_keys=True)

    def read_text(self, text: str) -> T:
        """The value of a JSON text. A field too many or too few is refused: a default would be a guess."""
        found = json.loads(text)
        if not isinstance(found, dict) or found.keys() != self.readers.keys():
            raise ValueError(f"{self.kind.__name__} is not an object of {', '.join(self.readers)}")
        return self.kind(**{name: read(found[name]) for name, read in self.readers.items()})


def _reader(hint: Any) -> Reader:
    if get_origin(hint) is tuple:
        return _pairs
    kinds = get_args(hint)
    if NoneType in kinds:
        read = _reader(kinds[0])
        return lambda value: None if value is None else read(value)
    plain: dict[Any, Reader] = {str: text_of, int: number_of, bool: _truth}
    found: Reader = plain.get(hint, hint)  # an enumeration reads itself
    return found


def text_of(value: Any) -> str:
    """A text, and nothing else."""
    if type(value) is not str:
        raise ValueError(f"{value!r} is not a text")
    return value


def number_of(value: Any) -> int:
    """A whole number, and nothing else."""
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _truth(value: Any) -> bool:
    if type(value) not in (int, bool) or value not in (0, 1):  # a database may have no truth values of its own
        raise ValueError(f"{value!r} is neither true nor false")
    return bool(value)


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((text_of(name), text_of(text)) for name, text in value)
