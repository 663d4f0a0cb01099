"""PostgreSQL connections: addresses, session settings, and translation of server errors. Imports psycopg."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import sql
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format

from kron.errors import InvalidSetting, StoreUnavailable, StoreUnsuitable, WriteRejected
from kron.stores.postgres.arrays import KINDS, Column
from kron.stores.url import ENCODING_HINT, url_problem

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

SCHEMA = "kron"  # the schema of the tables, unless the URL has `?schema=`
_UNKNOWN_OPTION = re.compile(r'invalid (?:URI query parameter:|connection option) "([a-z_]{1,30})"', re.ASCII)
_SCHEMA_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")

DEFAULTS: dict[str, Any] = {
    "application_name": "kron",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5_000,
    "target_session_attrs": "read-write",  # after a failover, connect to the primary
}


class _ColumnDumper(Dumper):
    """Dumper of columns, whose bytes are ready to send."""

    format = Format.BINARY

    def dump(self, obj: Column) -> bytes:
        return obj.octets


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    for kind, (oid, _) in KINDS.items():
        adapters.register_dumper(kind, type(kind.__name__ + "Dumper", (_ColumnDumper,), {"oid": oid}))
    return adapters


class _Context:
    """Adaptation context: tells psycopg how values become parameters."""

    connection = None
    adapters = _adapters()


CONTEXT: AdaptContext = _Context()


def address(url: str) -> str:
    """Return the conninfo of a URL, with defaults for what it leaves open and without Kron's own parameters."""
    plain, _ = _split_schema(url)
    problem, hint = url_problem(plain), ENCODING_HINT
    try:
        parameters = conninfo_to_dict(plain)
    except psycopg.Error as error:
        problem = problem or "it is not a URL of PostgreSQL"
        option = _UNKNOWN_OPTION.fullmatch(_first_line(error))
        if option:
            problem, hint = f"PostgreSQL has no parameter {option[1]!r}", "remove it, or use a parameter of libpq"
    if problem:  # raised without its cause: the message of the library repeats parts of the URL
        raise InvalidSetting("UNKNOWN_STORE", f"the store URL cannot be read: {problem}", hint=hint)
    return make_conninfo("", **(DEFAULTS | parameters))


def schema_of(url: str) -> str:
    """Return the schema that holds the tables: `?schema=` of the URL, else `kron`."""
    _, schema = _split_schema(url)
    if not _SCHEMA_NAME.fullmatch(schema):
        hint = "use lower-case letters, digits and _ (at most 63, not starting with a digit or pg_)"
        raise InvalidSetting("BAD_SCHEMA", f"invalid schema name {schema!r} in the store URL", hint=hint)
    return schema


def _split_schema(url: str) -> tuple[str, str]:
    """Return a URL without its `schema`, and the schema. libpq rejects parameters that it does not know."""
    location, _, query = url.partition("?")
    if "://" not in location:
        return url, SCHEMA
    parameters = [part.partition("=") for part in query.split("&") if part]
    others = "&".join("".join(part) for part in parameters if part[0] != "schema")
    schemas = [unquote(value) for name, _, value in parameters if name == "schema"]
    return f"{location}?{others}" if others else location, schemas[-1] if schemas else SCHEMA


class NotConnected(psycopg.OperationalError):
    """Error: no connection could be opened. Nothing was sent."""


async def connect(conninfo: str) -> Connection:
    """Open a connection without prepared statements: behind a pooler, the next transaction can use another backend."""
    settings: dict[str, Any] = {"autocommit": True, "prepare_threshold": None, "context": CONTEXT}
    try:
        return await psycopg.AsyncConnection.connect(conninfo, **settings)
    except psycopg.OperationalError as error:
        raise NotConnected(*error.args) from error


@lru_cache(1_024)
def with_literals(query: bytes, **literals: str) -> bytes:
    """Return the opening statements of a transaction with quoted literals.

    They are sent as one message of several statements, which cannot have parameters.
    """
    return sql.SQL(query.decode()).format(**{name: sql.Literal(text) for name, text in literals.items()}).as_bytes(None)


def with_schema(query: bytes, schema: str) -> bytes:
    """Return a statement for use outside of a transaction, with the schema's name: it needs no session setting."""
    return sql.SQL(query.decode()).format(schema=sql.Identifier(schema)).as_bytes(None)


def shut_down(connection: Connection) -> None:
    """Shut down a connection at once, whatever the server does. A task that waits for it gets an error."""
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it was closed already


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Translate psycopg errors to `KronError`."""
    try:
        yield
    except psycopg.IntegrityError as error:
        hint = "report this bug in Kron; nothing was written"
        raise WriteRejected(
            "STORE_REFUSED", f"{place}: write rejected by a database constraint: {_first_line(error)}", hint=hint
        ) from error
    except psycopg.errors.UndefinedTable as error:
        hint = "run `kron migrate --store URL` first"
        raise StoreUnsuitable("NOT_A_STORE", f"{place} has no Kron tables: {_first_line(error)}", hint=hint) from error
    except psycopg.Error as error:
        raise StoreUnavailable("STORE_FAILED", f"{place}: {_first_line(error)}", hint=_hint(error)) from error


def _first_line(error: psycopg.Error) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _hint(error: psycopg.Error) -> str:
    hints = {
        psycopg.errors.QueryCanceled: "retry, and find what keeps the database busy: the statement took too long",
        psycopg.errors.LockNotAvailable: "find the transaction that holds the lock in pg_stat_activity, then retry",
        psycopg.errors.DeadlockDetected: "retry the request",
        psycopg.errors.InsufficientPrivilege: "grant the role its privileges: see docs/how-to/postgresql.md",
        psycopg.errors.DiskFull: "free disk space on the database server; Kron then continues",
        psycopg.errors.ReadOnlySqlTransaction: "connect to the primary: this server is a standby",
        NotConnected: "check that the database is reachable",
        psycopg.OperationalError: "check that the database is reachable; the request may or may not have been done",
    }
    return next((hint for kind, hint in hints.items() if isinstance(error, kind)), "")
