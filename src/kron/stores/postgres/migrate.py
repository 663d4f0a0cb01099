"""Migrations: the scripts of `migrations/`. Each runs once, in order, and never changes afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import psycopg

from kron.engine.failpoint import fail_point
from kron.errors import StoreUnsuitable
from kron.stores.postgres.connection import (
    Connection,
    address,
    connect,
    schema_of,
    translate_errors,
    with_literals,
    with_schema,
)

MAX_LOCK_ATTEMPTS = 30  # attempts to get a lock, 1 s apart

_SET_SEARCH_PATH = b"SET LOCAL search_path = {schema}, pg_temp"
_SCHEMA_EXISTS = b"SELECT to_regnamespace(%s) IS NOT NULL"
_CREATE_SCHEMA = b"CREATE SCHEMA {schema}"
_GRANT = b"SELECT kron_grant()"  # also to roles that were created since
_MAKE_NAME_INDEX = b"SELECT kron_make_name_index()"  # also if the extension was installed since
_LOCK = b"SELECT pg_advisory_xact_lock(hashtextextended('kron migrations', 0))"
_LIMIT_LOCK_WAIT = b"SET LOCAL lock_timeout = '500ms'"  # workers queue behind a waiting lock request
_CREATE_TABLE = b"""CREATE TABLE IF NOT EXISTS kron_migrations (
    number     integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())"""
_TABLE_EXISTS = b"SELECT to_regclass('kron_migrations') IS NOT NULL"
_SELECT_APPLIED = b"SELECT number, name, checksum FROM kron_migrations ORDER BY number"
_INSERT_APPLIED = b"INSERT INTO kron_migrations (number, name, checksum) VALUES (%s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration script."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the script, in hexadecimal."""
        return sha256(self.sql.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """Return the migrations of this Kron version, in order."""
    paths = Path(__file__).with_name("migrations").glob("[0-9]*.sql")
    scripts = (Migration(int(path.name[:4]), path.stem, path.read_text("utf-8")) for path in paths)
    return tuple(sorted(scripts, key=lambda migration: migration.number))


async def migrate(url: str, *, dry: bool = False, scripts: tuple[Migration, ...] | None = None) -> list[Migration]:
    """Run the missing migrations in one transaction. Any number of processes can call this at once.

    Args:
        url: URL of the store.
        dry: Run nothing, only return the missing migrations.
        scripts: Migrations to use; None uses those of this Kron version.

    Returns:
        The migrations that were missing.

    Raises:
        StoreUnsuitable: The database is newer than this Kron, or an applied script has changed since.
    """
    expected = migrations() if scripts is None else scripts
    with translate_errors("the database"):
        async with await connect(address(url)) as connection:
            for _ in range(MAX_LOCK_ATTEMPTS):
                try:
                    return await _migrate(connection, schema_of(url), expected, dry)
                except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                    await asyncio.sleep(1)
            return await _migrate(connection, schema_of(url), expected, dry)


async def check(url: str, *, scripts: tuple[Migration, ...] | None = None) -> None:
    """Check that this Kron supports the tables: those of its newest migration, and those of the next one.

    So old and new workers can run at the same time during an upgrade: migrate the tables first, then upgrade the
    workers.

    Raises:
        StoreUnsuitable: The tables are too old or too new.
    """
    newest = max(migration.number for migration in (migrations() if scripts is None else scripts))
    with translate_errors("the database"):
        async with await connect(address(url)) as connection, connection.transaction():
            await connection.execute(with_literals(_SET_SEARCH_PATH, schema=schema_of(url)))
            latest = max(await _applied_migrations(connection), default=0)
    if latest < newest:
        message = f"the database has migrations up to {latest}, this Kron requires up to {newest}"
        raise StoreUnsuitable("STORE_TOO_OLD", message, hint="run `kron migrate --store URL` first")
    if latest > newest + 1:
        message = f"the database has migrations up to {latest}, this Kron supports up to {newest + 1}"
        raise StoreUnsuitable("STORE_TOO_NEW", message, hint="upgrade Kron on this host; the database is unchanged")


async def _migrate(connection: Connection, schema: str, expected: tuple[Migration, ...], dry: bool) -> list[Migration]:
    async with connection.transaction():
        await connection.execute(with_literals(_SET_SEARCH_PATH, schema=schema))
        await connection.execute(_LOCK)
        await connection.execute(_LIMIT_LOCK_WAIT)
        missing = await _missing_migrations(connection, expected)
        if not dry:
            await _run_scripts(connection, schema, missing)
        return missing


async def _run_scripts(connection: Connection, schema: str, missing: list[Migration]) -> None:
    """Run scripts in the schema, which is created if it is missing, and add missing privileges and the name index."""
    row = await (await connection.execute(_SCHEMA_EXISTS, (schema,))).fetchone()
    if row is None or not row[0]:
        await connection.execute(with_schema(_CREATE_SCHEMA, schema))
    for migration in missing:
        await connection.execute(_CREATE_TABLE)
        await connection.execute(migration.sql.encode())
        fail_point("K12")
        await connection.execute(_INSERT_APPLIED, (migration.number, migration.name, migration.checksum))
    await connection.execute(_MAKE_NAME_INDEX)
    await connection.execute(_GRANT)


async def _missing_migrations(connection: Connection, scripts: tuple[Migration, ...]) -> list[Migration]:
    applied = await _applied_migrations(connection)
    known = {migration.number: migration for migration in scripts}
    for number, (name, checksum) in applied.items():
        if number not in known:
            message = f"the database has migration {name}, which this Kron does not know"
            raise StoreUnsuitable("STORE_TOO_NEW", message, hint="upgrade Kron on this host; the database is unchanged")
        if known[number].checksum != checksum:
            message = f"migration {name} was changed after it ran: its checksum differs"
            raise StoreUnsuitable(
                "MIGRATION_CHANGED", message, hint="restore the script and put the change into a new one"
            )
    return [migration for migration in scripts if migration.number not in applied]


async def _applied_migrations(connection: Connection) -> dict[int, tuple[str, str]]:
    row = await (await connection.execute(_TABLE_EXISTS)).fetchone()
    if row is None or not row[0]:
        return {}
    rows = await (await connection.execute(_SELECT_APPLIED)).fetchall()
    return {number: (name, checksum) for number, name, checksum in rows}
