"""A store in PostgreSQL: durable, and shared by any number of hosts."""

from kron.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
