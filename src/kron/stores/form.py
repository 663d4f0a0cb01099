"""A Form: how values of one kind become rows or JSON, field by field, and how strictly they are read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
T = TypeVar("T")


class Misfit(ValueError):
    """A field that is not what it should be, or is not there: its name, what stands in its place, and its kind."""

    def __init__(self, message: str, field: str, value: object, wanted: type, *, missing: bool = False) -> None:
        super().__init__(message)
        self.field, self.value, self.wanted, self.missing = field, value, wanted, missing


class Form(Generic[T]):
    """The fields of a dataclass or a named tuple. What a field's annotation does not allow is a ValueError."""

    def __init__(self, kind: type[T], without: Sequence[str] = ()) -> None:
        self.kind = kind
        self.hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in without}
        self.readers = {name: _reader(hint) for name, hint in self.hints.items()}
        self.choices = [name for name, hint in self.hints.items() if _is_choice(hint)]

    def row(self, value: T) -> dict[str, Any]:
        """The fields by their names, as a database takes them."""
        fields = value if isinstance(value, tuple) else [getattr(value, name) for name in self.readers]
        found = dict(zip(self.readers, fields, strict=True))
        for name in self.choices:
            if found[name] is not None:
                found[name] = found[name].value
        return found

    def read(self, row: Sequence[Any]) -> T:
        """The value of a row that has the fields in their order."""
        return self.kind(*[self._field(name, each) for name, each in zip(self.readers, row, strict=True)])

    def text(self, value: T) -> str:
        """The value as JSON with every field: equal values have equal texts."""
        found = {name: getattr(value, name) for name in self.readers}
        return json.dumps(found, separators=(",", ":"), sort_keys=True)

    def read_text(self, text: str) -> T:
        """The value of a JSON text. A field too many or too few is refused: a default would be a guess."""
        found = json.loads(text)
        if not isinstance(found, dict) or found.keys() - self.readers.keys():
            raise ValueError(f"{self.kind.__name__} is not an object of {', '.join(self.readers)}")
        for name in self.readers:
            if name not in found:
                raise Misfit(f"{self.kind.__name__} has no {name}", name, None, self._wanted(name), missing=True)
        return self.kind(**{name: self._field(name, found[name]) for name in self.readers})

    def some(self, value: T, names: Sequence[str]) -> dict[str, Any]:
        """Return the named fields, as JSON takes them."""
        return {name: getattr(value, name) for name in names if name in self.readers}

    def read_some(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a part of a value. A field that the kind does not have is refused."""
        if found.keys() - self.readers.keys():
            raise ValueError(f"{self.kind.__name__} is not an object of {', '.join(self.readers)}")
        return {name: self._field(name, value) for name, value in found.items()}

    def _field(self, name: str, value: Any) -> Any:
        try:
            return self.readers[name](value)
        except (ValueError, TypeError) as error:
            raise Misfit(f"{name}: {error}", name, value, self._wanted(name)) from error

    def _wanted(self, name: str) -> type:
        """The plain kind of a field: what a text or a row would hold."""
        kind, *_ = get_args(self.hints[name]) or (self.hints[name],)
        return next((plain for plain in (bool, int, str) if isinstance(kind, type) and issubclass(kind, plain)), object)


def _is_choice(hint: Any) -> bool:
    kind, *_ = get_args(hint) or (hint,)
    return isinstance(kind, type) and issubclass(kind, StrEnum)


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
