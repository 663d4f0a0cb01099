"""Scheduler for Celery beat: Kron decides what is due, and several beats share the work."""

from __future__ import annotations

from typing import Any

from celery import beat
from celery.utils.log import get_logger

from kron.apps.embedded.background import BackgroundThread
from kron.apps.redacted import redacted
from kron.errors import KronError
from kron.integrations.celery.beat_worker import BeatWorker
from kron.integrations.celery.entry_job import job_of
from kron.integrations.celery.publisher import Publisher, confirm_messages
from kron.integrations.celery.settings import settings_of, store_of

CHECK_SECONDS = 1.0  # seconds between two checks that the worker still runs
log = get_logger("celery.beat")


class Scheduler(beat.Scheduler):  # type: ignore[misc]  # Celery has no types
    """Scheduler class of Celery beat: `celery -A proj beat -S kron.integrations.celery:Scheduler`.

    The entries of `beat_schedule` are jobs in the store that the setting `kron_store` names. A Kron worker in a
    background thread publishes what is due. Any number of beats can run with one store.
    """

    _background: BackgroundThread | None = None

    def setup_schedule(self) -> None:
        """Register the entries, and start the worker.

        Raises:
            SystemExit: A setting or an entry was refused, or the store cannot be used. The log has the reason. Celery
                would print the traceback of another exception in hundreds of lines.
        """
        try:
            self._start_worker()
        except KronError as error:
            log.critical("%s", error)
            raise SystemExit(1) from None

    def _start_worker(self) -> None:
        self.merge_inplace(self.app.conf.beat_schedule)
        self.install_default_entries(self.schedule)
        settings = settings_of(self.app)
        jobs = [job_of(entry, settings) for entry in self.schedule.values()]
        confirm_messages(self.app)
        worker = BeatWorker(settings.store, settings.prefix, jobs, {settings.scheme: Publisher(self.app)})
        background = BackgroundThread(worker.serve, worker.stop)
        background.start()
        self._background = background

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Return the seconds until the next call. Raises the error of a worker that ended."""
        if self._background and self._background.ended.done():
            self._background.join()
        return min(CHECK_SECONDS, float(self.max_interval))

    def close(self) -> None:
        """End the worker: it publishes nothing more, and releases its lease for the other beats."""
        background, self._background = self._background, None
        if background:
            background.stop()
            background.join()
        super().close()

    @property
    def info(self) -> str:
        """Line of the banner of beat."""
        try:
            return f"    . store -> {redacted(store_of(self.app))}"
        except KronError:  # the start says why
            return "    . store -> none"
