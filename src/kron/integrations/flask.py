"""Flask: an extension that runs a scheduler in each server process, from its first request on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from flask import Flask, current_app, has_app_context
from werkzeug.local import LocalProxy

from kron.apps.embedded import Scheduler
from kron.apps.embedded.job_set import JobSet
from kron.errors import InvalidSetting, UsageError
from kron.integrations.process_scheduler import ProcessScheduler
from kron.integrations.settings import scheduler_options
from kron.launchers.python import plain


class Kron(JobSet):
    """Extension for Flask: `kron = Kron(app)`, or `kron = Kron()` and later `kron.init_app(app)`.

    Declare jobs with `@kron.job(...)`, `@kron.cron(...)` and `@kron.task`. They run inside an application context. The
    settings are `KRON_STORE`, which is required, `KRON_RUN_JOBS`, `KRON_MAX_WORKERS`, `KRON_MAX_COROUTINES`,
    `KRON_SHUTDOWN_TIMEOUT` and `KRON_RETENTION`.
    """

    def __init__(self, app: Flask | None = None) -> None:
        super().__init__()
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Give an application a scheduler. It starts with the first request, in each server process.

        Raises:
            InvalidSetting: `KRON_STORE` is missing, or a setting is unknown.
            UsageError: The application has a scheduler already.
        """
        if "kron" in app.extensions:
            hint = "create one Kron object, call its init_app() once, and declare all jobs on it"
            raise UsageError("TWO_SCHEDULERS", f"the application {app.name!r} has a scheduler already", hint=hint)
        options = scheduler_options(app.config.get_namespace("KRON_", lowercase=False), lambda name: f"KRON_{name}")
        if not options.get("store"):
            hint = 'set it before init_app(app): app.config["KRON_STORE"] = "postgresql://user@host/database"'
            raise InvalidSetting("CONFIG", "KRON_STORE is not set", hint=hint)
        scheduler = Scheduler(**options, wrap=functools.partial(in_app_context, app))
        scheduler.include(self)
        app.extensions["kron"] = ProcessScheduler(scheduler)
        app.before_request(app.extensions["kron"].start)


def in_app_context(app: Flask, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called inside a new application context."""
    if plain(function):

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with app.app_context():
                return function(*args, **kwargs)

        return call

    @functools.wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        with app.app_context():
            return await function(*args, **kwargs)

    return call_async


def scheduler_of_app() -> Scheduler:
    """Return the scheduler of the current application."""
    if not has_app_context():
        hint = "use it in a view or a job, or inside `with app.app_context():`"
        raise UsageError("NOT_RUNNING", "current_scheduler was used outside of an application context", hint=hint)
    process: ProcessScheduler | None = current_app.extensions.get("kron")
    if process is None:
        hint = "call kron.init_app(app) where the application is created"
        raise UsageError("NOT_RUNNING", f"the application {current_app.name!r} has no scheduler", hint=hint)
    return process.running()


current_scheduler = cast(Scheduler, LocalProxy(scheduler_of_app))
"""The scheduler of the current application: `current_scheduler.sync.create(...)` in a view.

Views can use it at once. In a command or a script, start it: `with current_scheduler:`.
"""


def post_worker_init(worker: Any) -> None:
    """Start the scheduler when a Gunicorn worker starts, before its first request.

    Gunicorn calls it if `gunicorn.conf.py` has the line `from kron.integrations.flask import post_worker_init`.
    """
    app = worker.wsgi
    process: ProcessScheduler | None = app.extensions.get("kron") if isinstance(app, Flask) else None
    if process is None:
        hint = (
            "serve the Flask object itself, after init_app(); otherwise remove post_worker_init from gunicorn.conf.py"
        )
        raise UsageError("NOT_RUNNING", "the application that Gunicorn serves has no scheduler", hint=hint)
    process.start()
