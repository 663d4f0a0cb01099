"""Row codec: converts values of one type to rows or JSON, field by field, and reads them back strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields as fields_of
from enum import StrEnum
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
T = TypeVar("T")


class DecodeError(ValueError):
    """Error: a field has the wrong type or is missing. It holds the field name, the value found and the wanted type."""

    def __init__(self, message: str, field: str, value: object, wanted: type, *, missing: bool = False) -> None:
        super().__init__(message)
        self.field, self.value, self.wanted, self.missing = field, value, wanted, missing


class RowCodec(Generic[T]):
    """Codec of a dataclass or named tuple. A value that a field's annotation does not allow is a ValueError.

    Args:
        kind: The dataclass or named tuple.
        without: Names of fields that are left out.
        optional: Names of fields that a JSON text contains only where they differ from their default.
    """

    def __init__(self, kind: type[T], without: Sequence[str] = (), optional: Sequence[str] = ()) -> None:
        self.kind, self.defaults = kind, {name: _default_of(kind, name) for name in optional}
        self.hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in without}
        self.readers = {name: _reader(hint) for name, hint in self.hints.items()}
        self.choices = [name for name, hint in self.hints.items() if _is_choice(hint)]

    def row(self, value: T) -> dict[str, Any]:
        """Return the fields by name, as database values."""
        fields = value if isinstance(value, tuple) else [getattr(value, name) for name in self.readers]
        values = dict(zip(self.readers, fields, strict=True))
        for name in self.choices:
            if values[name] is not None:
                values[name] = values[name].value
        return values

    def read(self, row: Sequence[Any]) -> T:
        """Return the value of a row, which has the fields in their order. An error names its field."""
        with suppress(ValueError, TypeError):
            return self.kind(*[read(value) for read, value in zip(self.readers.values(), row, strict=True)])
        # once more with names, which make the call slower: almost all rows are readable
        return self.kind(*[self._read_field(name, value) for name, value in zip(self.readers, row, strict=True)])

    def text(self, value: T) -> str:
        """Return the value as JSON with every field, apart from optional defaults. Equal values have equal texts."""
        fields = {name: getattr(value, name) for name in self.readers}
        for name, default in self.defaults.items():
            if fields[name] == default:
                del fields[name]
        return json.dumps(fields, separators=(",", ":"), sort_keys=True)

    def read_text(self, text: str) -> T:
        """Return the value of a JSON text. Unknown and missing fields are errors: a default would be a guess.

        A missing optional field has its default.
        """
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.keys() - self.readers.keys():
            raise ValueError(f"{self.kind.__name__} is not an object of {', '.join(self.readers)}")
        fields = self.defaults | fields
        for name in self.readers:
            if name not in fields:
                raise DecodeError(
                    f"{self.kind.__name__} has no {name}", name, None, self._plain_type(name), missing=True
                )
        return self.kind(**{name: self._read_field(name, fields[name]) for name in self.readers})

    def subset(self, value: T, names: Sequence[str]) -> dict[str, Any]:
        """Return the named fields as JSON values."""
        return {name: getattr(value, name) for name in names if name in self.readers}

    def read_subset(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a partial value. Raises ValueError for an unknown field."""
        if fields.keys() - self.readers.keys():
            raise ValueError(f"{self.kind.__name__} is not an object of {', '.join(self.readers)}")
        return {name: self._read_field(name, value) for name, value in fields.items()}

    def _read_field(self, name: str, value: Any) -> Any:
        try:
            return self.readers[name](value)
        except (ValueError, TypeError) as error:
            raise DecodeError(f"{name}: {error}", name, value, self._plain_type(name)) from error

    def _plain_type(self, name: str) -> type:
        """Return the plain type of a field: the type that a text or a row holds."""
        kind, *_ = get_args(self.hints[name]) or (self.hints[name],)
        return next((plain for plain in (bool, int, str) if isinstance(kind, type) and issubclass(kind, plain)), object)


def _default_of(kind: type, name: str) -> Any:
    return next(field.default for field in fields_of(kind) if field.name == name)


def _is_choice(hint: Any) -> bool:
    kind, *_ = get_args(hint) or (hint,)
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _reader(hint: Any) -> Reader:
    if get_origin(hint) is tuple:
        return _pairs_of
    kinds = get_args(hint)
    if NoneType in kinds:
        read = _reader(kinds[0])
        return lambda value: None if value is None else read(value)
    plain: dict[Any, Reader] = {str: text_of, int: number_of, bool: _truth_of}
    reader: Reader = plain.get(hint, hint)  # an enumeration reads itself
    return reader


def text_of(value: Any) -> str:
    """Return `value` if it is a string; else raise ValueError."""
    if type(value) is not str:
        raise ValueError(f"{value!r} is not a text")
    return value


def number_of(value: Any) -> int:
    """Return `value` if it is an integer (not a bool); else raise ValueError."""
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _truth_of(value: Any) -> bool:
    if type(value) not in (int, bool) or value not in (0, 1):  # some databases have no boolean type
        raise ValueError(f"{value!r} is neither true nor false")
    return bool(value)


def _pairs_of(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((text_of(name), text_of(text)) for name, text in value)
