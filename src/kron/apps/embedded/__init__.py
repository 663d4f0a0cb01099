"""The door for applications: a scheduler inside the process that runs functions of it."""

from kron.apps.embedded.scheduler import Scheduler

__all__ = ["Scheduler"]
