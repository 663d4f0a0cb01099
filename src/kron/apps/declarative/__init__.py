"""The door of the declarative scheduler: registrations as data, POSIX cron, the local wall clock."""

from kron.apps.declarative.scheduler import DeclarativeScheduler

__all__ = ["DeclarativeScheduler"]
