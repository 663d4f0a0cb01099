"""Embedded scheduler: runs functions of the application inside its process."""

from kron.apps.embedded.scheduler import Scheduler

__all__ = ["Scheduler"]
