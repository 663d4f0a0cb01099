"""Declarative scheduler: registrations as data, POSIX cron, local time."""

from kron.apps.declarative.scheduler import DeclarativeScheduler

__all__ = ["DeclarativeScheduler"]
