"""Registration of event handlers, as decorators or as calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kron.apps.embedded.core import SchedulerCore
from kron.apps.embedded.run_event import RunEvent, RunEventKind
from kron.errors import UsageError, clip

H = TypeVar("H", bound=Callable[[RunEvent], Any])


class HandlerRegistration(SchedulerCore):
    """Registers functions that are called for events about runs.

    A plain function is called in a thread, an async function in the event loop of the scheduler. An exception of a
    handler is logged, and has no effect on the run.
    """

    def on_run_started(self, handler: H) -> H:
        """Call a function whenever a job's function starts in this process: `@s.on_run_started`."""
        return self._register("started", handler)

    def on_run_succeeded(self, handler: H) -> H:
        """Call a function whenever a run of this process has succeeded, with its duration."""
        return self._register("succeeded", handler)

    def on_run_failed(self, handler: H) -> H:
        """Call a function whenever an attempt has failed, with its exception, or a run is lost, unknown or canceled."""
        return self._register("failed", handler)

    def on_run_missed(self, handler: H) -> H:
        """Call a function whenever this process records a period as missed or unschedulable, with the reason."""
        return self._register("missed", handler)

    def on_run_skipped(self, handler: H) -> H:
        """Call a function whenever this process records a period as skipped, with the reason."""
        return self._register("skipped", handler)

    def _register(self, kind: RunEventKind, handler: H) -> H:
        if not callable(handler):
            hint = "pass a function that takes an event"
            raise UsageError("NOT_CALLABLE", f"{clip(repr(handler))} is not a function", hint=hint)
        self._register_handler(kind, handler)
        return handler

    def _register_handler(self, kind: RunEventKind, handler: Callable[..., Any]) -> None:
        self._setup.handlers.add(kind, handler)
