"""Row codec: converts values of one type to rows or JSON, field by field, and reads them back strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as fields_of
from enum import StrEnum
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
T = TypeVar("T")

MAX_TYPES = 256  # different combinations of types that rows of one kind have, such as with and without an owner


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
        self._readers_of_types: dict[tuple[type, ...], list[tuple[int, Reader]]] = {}

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
        types = tuple(map(type, row))
        readers = self._readers_of_types.get(types)
        if readers is None:  # the types of the first row with them
            fields = [self._read_field(name, value) for name, value in zip(self.readers, row, strict=True)]
            if len(self._readers_of_types) < MAX_TYPES:
                self._readers_of_types[types] = self._value_readers(types)
            return self.kind(*fields)
        values = list(row)
        try:
            for index, read in readers:
                values[index] = read(values[index])
        except (ValueError, TypeError):  # once more with names, for the error
            values = [self._read_field(name, value) for name, value in zip(self.readers, row, strict=True)]
        return self.kind(*values)

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

    def _value_readers(self, types: Sequence[type]) -> list[tuple[int, Reader]]:
        """Return the fields whose values must be read, with their readers, in rows that have values of these types.

        A row of these types was read already. So texts, whole numbers and NULL are what their fields allow.
        """
        fields = enumerate(zip(self.readers.items(), types, strict=True))
        return [
            (index, read)
            for index, ((name, read), found) in fields
            if found is not NoneType and not (found in (str, int, bool) and found is _kind_of(self.hints[name]))
        ]

    def _read_field(self, name: str, value: Any) -> Any:
        try:
            return self.readers[name](value)
        except (ValueError, TypeError) as error:
            raise DecodeError(f"{name}: {error}", name, value, self._plain_type(name)) from error

    def _plain_type(self, name: str) -> type:
        """Return the plain type of a field: the type that a text or a row holds."""
        kind = _kind_of(self.hints[name])
        return next((plain for plain in (bool, int, str) if isinstance(kind, type) and issubclass(kind, plain)), object)


def _default_of(kind: type, name: str) -> Any:
    return next(field.default for field in fields_of(kind) if field.name == name)


def _kind_of(hint: Any) -> Any:
    """Return the type of a field; the first one if it allows several."""
    kinds = () if get_origin(hint) is tuple else get_args(hint)
    return kinds[0] if kinds else hint


def _is_choice(hint: Any) -> bool:
    kind = _kind_of(hint)
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _reader(hint: Any) -> Reader:
    if get_origin(hint) is tuple:
        return _pairs_of
    kinds = get_args(hint)
    if NoneType in kinds:
        read = _reader(kinds[0])
        return lambda value: None if value is None else read(value)
    plain: dict[Any, Reader] = {str: text_of, int: number_of, bool: _truth_of}
    return plain[hint] if hint in plain else _member_reader(hint)


def _member_reader(kind: Any) -> Reader:
    """Return a reader of an enumeration that is faster than the enumeration itself."""
    members = {member.value: member for member in kind}

    def read(value: Any) -> Any:
        return members[value] if type(value) is str and value in members else kind(value)

    return read


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
