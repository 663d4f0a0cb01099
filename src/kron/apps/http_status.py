"""HTTP status of each error, for the service and the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kron.errors import (
    AccessDenied,
    AlreadyExists,
    Contended,
    KronError,
    NotFound,
    QuotaExceeded,
    RevisionConflict,
    StoreUnsuitable,
    Unavailable,
    UnreadableRecord,
    WriteRejected,
)

_Entry = TypeVar("_Entry")
_STATUS: dict[type[KronError] | str, int] = {  # a code takes precedence over its class
    AccessDenied: 403,
    NotFound: 404,
    AlreadyExists: 409,
    RevisionConflict: 412,
    QuotaExceeded: 429,
    WriteRejected: 500,
    UnreadableRecord: 500,
    Unavailable: 503,
    StoreUnsuitable: 503,
    Contended: 503,
    "BAD_URL": 400,
    "UNAUTHENTICATED": 401,
    "SLOW_BODY": 408,
    "NOT_DEAD": 409,
    "GONE": 410,
    "TOO_LARGE": 413,
    "MEDIA_TYPE": 415,
    "MISSING_PART": 501,
}


def http_status(error: KronError) -> int:
    """Return the HTTP status of an error; 422 if the request is at fault and no other status fits."""
    return entry_of(_STATUS, error) or 422


def entry_of(table: Mapping[type[KronError] | str, _Entry], error: KronError) -> _Entry | None:
    """Return the entry of the error's code, else that of its class or of the nearest base class."""
    keys: list[type[KronError] | str] = [error.code]
    keys += [base for base in type(error).__mro__ if issubclass(base, KronError)]
    return next((table[key] for key in keys if key in table), None)
