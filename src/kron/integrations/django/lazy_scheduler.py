"""Scheduler of a Django project: created from its settings, and started by its first use."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from django.conf import settings

from kron.apps.embedded import Scheduler
from kron.apps.embedded.running import Running
from kron.errors import InvalidSetting, StoreUnsuitable, clip
from kron.integrations.django.job_connections import with_own_connections
from kron.integrations.django.store_url import default_store
from kron.integrations.settings import scheduler_options


class LazyScheduler(Scheduler):
    """Scheduler that starts in a background thread when it is first used in a process: in a view, shell or command.

    It runs jobs there only if `KRON["RUN_JOBS"]` is True. `manage.py kron run` runs them in a process of its own.
    """

    def __init__(self, store: str, **options: Any) -> None:
        super().__init__(store, **options)
        self.store_url = store
        self._starting = Lock()

    async def __aenter__(self) -> Scheduler:
        try:
            return await super().__aenter__()
        except StoreUnsuitable as error:
            error.hint = error.hint.replace("kron migrate --store URL", "python manage.py kron migrate")
            raise

    def _require_running(self, method: str) -> Running:
        if not self.is_running:
            with self._starting:
                if not self.is_running and not self._is_entered:  # one that stops still is entered, and cannot start
                    self.start()
        return super()._require_running(method)


@cache
def project_scheduler() -> LazyScheduler:
    """Return the scheduler of the project.

    Raises:
        InvalidSetting: The settings name no store, or have an unknown name.
    """
    written = getattr(settings, "KRON", {})
    if not isinstance(written, dict):
        hint = 'write KRON = {"STORE": "postgresql://user@host/database"}'
        raise InvalidSetting("CONFIG", f"the setting KRON cannot be {clip(repr(written))}", hint=hint)
    options = scheduler_options(written, lambda name: f'KRON["{name}"]')
    store = options.pop("store", None) or default_store()
    return LazyScheduler(store, **{"run_jobs": False, **options}, wrap=with_own_connections)
