"""Configuration of the Django app."""

from __future__ import annotations

import sys
from pathlib import Path

from django.apps import AppConfig
from django.core.signals import request_started
from django.utils.module_loading import autodiscover_modules

from kron.errors import KronError
from kron.integrations.django.lazy_scheduler import project_scheduler
from kron.integrations.process_scheduler import ProcessScheduler

DJANGO_PROGRAMS = ("manage.py", "django-admin", "__main__.py")  # the last one is that of `python -m django`


class KronConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """App that imports the `tasks.py` of every installed app."""

    name = "kron.integrations.django"
    label = "kron"
    verbose_name = "Kron"

    def ready(self) -> None:
        """Create the scheduler and import the jobs. With `RUN_JOBS`, it starts with the first request of a process.

        A command of `manage.py` shows wrong settings as Django shows a `CommandError`: without a traceback. Django
        itself does so only after all apps are ready.
        """
        try:
            scheduler = project_scheduler()
        except KronError as error:
            if Path(sys.argv[0]).name not in DJANGO_PROGRAMS:
                raise
            sys.exit(f"CommandError: {error}")
        autodiscover_modules("tasks")
        if scheduler.run_jobs:
            self.web_process = ProcessScheduler(scheduler)  # Django keeps only a weak reference to its method
            request_started.connect(self._start)

    def _start(self, **_: object) -> None:
        self.web_process.start()
