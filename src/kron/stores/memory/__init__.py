"""In-memory store."""

from kron.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
