"""Tenant scope: which schedules the current task can reach in a store.

Code that acts for a tenant sets the scope once, and cannot reach further. The scope belongs to the task: everything
that a request does is within its tenant, and the work of a worker in the same process is not. A store that can enforce
the scope itself does so, such as PostgreSQL by row-level security.
"""

from __future__ import annotations

from contextvars import ContextVar

ALL_TENANTS = "*"  # scope of code that acts for all tenants
_SCOPE: ContextVar[str] = ContextVar("within", default="")


def set_tenant_scope(prefix: str) -> None:
    """Restrict this task to the schedules whose names begin with `prefix`; `ALL_TENANTS` allows all of them."""
    _SCOPE.set(prefix)


def tenant_scope() -> str:
    """Return the scope of this task; empty if none was set."""
    return _SCOPE.get()
