"""Django: an app for INSTALLED_APPS. Jobs are declared in the `tasks.py` of each app, on `scheduler`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.integrations.django.lazy_scheduler import LazyScheduler

    scheduler: LazyScheduler

__all__ = ["scheduler"]


def __getattr__(name: str) -> Any:
    """Return the scheduler. It is created when it is first used, because it needs the settings of the project."""
    if name != "scheduler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kron.integrations.django.lazy_scheduler import project_scheduler

    return project_scheduler()
