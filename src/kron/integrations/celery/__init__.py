"""Highly available Celery beat: `celery -A proj beat -S kron.integrations.celery:Scheduler`."""

from kron.integrations.celery.beat import Scheduler

__all__ = ["Scheduler"]
