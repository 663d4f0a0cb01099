"""Configuration of the Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.signals import request_started
from django.utils.module_loading import autodiscover_modules

from kron.integrations.django.lazy_scheduler import project_scheduler
from kron.integrations.process_scheduler import ProcessScheduler


class KronConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """App that imports the `tasks.py` of every installed app."""

    name = "kron.integrations.django"
    label = "kron"
    verbose_name = "Kron"

    def ready(self) -> None:
        """Create the scheduler and import the jobs. With `RUN_JOBS`, it starts with the first request of a process."""
        scheduler = project_scheduler()
        autodiscover_modules("tasks")
        if scheduler.run_jobs:
            self.web_process = ProcessScheduler(scheduler)  # Django keeps only a weak reference to its method
            request_started.connect(self._start)

    def _start(self, **_: object) -> None:
        self.web_process.start()
