"""`manage.py kron`: run the worker process, and control and inspect jobs."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from kron.apps.visible import visible
from kron.apps.wiring import durable
from kron.errors import KronError
from kron.integrations.django.lazy_scheduler import LazyScheduler, project_scheduler

ACTIONS = {  # with their help
    "run": "Run jobs until SIGTERM or Ctrl-C",
    "migrate": "Create or update the PostgreSQL tables of Kron",
    "jobs": "List jobs with their next run",
    "runs": "List the runs of a job, newest first",
    "trigger": "Run a job now, in addition to its schedule",
    "pause": "Pause a job in every process",
    "resume": "Resume a job",
}


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    """Commands of Kron in a Django project."""

    help = "Run scheduled jobs, and control and inspect them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare one subcommand for each action."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, text in ACTIONS.items():
            action = actions.add_parser(name, help=text)
            if name in ("runs", "trigger", "pause", "resume"):
                action.add_argument("job", help="Name of the job")
            if name == "jobs":
                action.add_argument("--prefix", default="", help="List only jobs whose names begin with this text")
            if name in ("jobs", "runs"):
                action.add_argument("--limit", type=int, default=100, help="Maximum number of lines (default 100)")
            if name == "trigger":
                action.add_argument("--wait", type=float, metavar="SECONDS", help="Wait until the run has ended")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        """Do one action. An error of Kron is shown without a traceback."""
        try:
            scheduler = project_scheduler()
            if action == "run":
                scheduler.run_jobs = True
                asyncio.run(self._run(scheduler))
            elif action == "migrate":
                asyncio.run(self._migrate(scheduler.store_url))
            else:
                scheduler.run_jobs = False
                with scheduler:
                    getattr(self, f"_{action}")(scheduler, options)
        except KronError as error:
            raise CommandError(str(error)) from error

    async def _run(self, scheduler: LazyScheduler) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows: Ctrl-C cancels the task instead
                loop.add_signal_handler(each, stop.set)
        async with scheduler:
            names = len(scheduler.declared)
            self.stdout.write(f"running jobs of this project ({names} declared); stop with SIGTERM or Ctrl-C")
            self.stdout.flush()
            await stop.wait()
        await sync_to_async(connections.close_all)()  # those of async jobs, which share a thread
        self.stdout.write("stopped")

    async def _migrate(self, url: str) -> None:
        durable(url)
        from kron.stores.postgres.maintain import maintain
        from kron.stores.postgres.migrate import migrate

        for migration in await migrate(url):
            self.stdout.write(f"ran {migration.name}")
        await maintain(url)
        self.stdout.write("the tables of Kron are up to date")

    def _jobs(self, scheduler: LazyScheduler, options: dict[str, Any]) -> None:
        for job in scheduler.sync.jobs(options["prefix"], limit=options["limit"]):
            next_run = (
                "paused" if job.paused else f"{job.next_run:%Y-%m-%d %H:%M:%S %Z}" if job.next_run else "no next run"
            )
            self.stdout.write(f"{visible(job.name)}\t{next_run}\t{visible(job.schedule)}")

    def _runs(self, scheduler: LazyScheduler, options: dict[str, Any]) -> None:
        for run in scheduler.sync.runs(options["job"], limit=options["limit"]):
            reason = f" ({run.reason})" if run.reason else ""
            self.stdout.write(
                f"{run.period:%Y-%m-%d %H:%M:%S %Z}\t{run.outcome or run.state}{reason}\t{run.state}\t{run.key}"
            )

    def _trigger(self, scheduler: LazyScheduler, options: dict[str, Any]) -> None:
        key = scheduler.sync.trigger(options["job"])
        seconds, state = options["wait"], "requested"
        if seconds is not None:
            try:
                state = scheduler.sync.result(key, timeout=seconds).state
            except TimeoutError as error:
                raise CommandError(f"{error}; is `manage.py kron run` running?") from None
        self.stdout.write(f"{state} {key}")

    def _pause(self, scheduler: LazyScheduler, options: dict[str, Any]) -> None:
        scheduler.sync.pause(options["job"])
        self.stdout.write(f"paused {visible(options['job'])}")

    def _resume(self, scheduler: LazyScheduler, options: dict[str, Any]) -> None:
        scheduler.sync.resume(options["job"])
        self.stdout.write(f"resumed {visible(options['job'])}")
