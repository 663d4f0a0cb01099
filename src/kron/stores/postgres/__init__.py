"""PostgreSQL store: durable, shared by any number of hosts."""

from kron.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
