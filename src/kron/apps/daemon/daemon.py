"""Daemon: the tables of a host, a worker that starts their commands, and the signals that control both."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

from kron.apps.daemon.boot_runs import request_boot_runs
from kron.apps.daemon.control import Control
from kron.apps.daemon.idle import IDLE_SECONDS, IdleWatch
from kron.apps.daemon.installation import Installation
from kron.apps.daemon.last_sign import last_sign
from kron.apps.daemon.notifications.notifier import Notifier, Places
from kron.apps.daemon.options import Options
from kron.apps.daemon.reaper import reaping
from kron.apps.daemon.reloader import Reloader
from kron.apps.daemon.service_manager import ServiceManager
from kron.apps.daemon.unstarted import release_unstarted
from kron.apps.daemon.user_limits import UserLanes
from kron.apps.host.shadow_state import check_state
from kron.apps.host.spool import make_spool
from kron.apps.host.state_folder import JOURNAL_NAME
from kron.apps.wiring import launchers, open_store
from kron.engine.background import in_background
from kron.engine.clock import SystemTimer
from kron.engine.events import Event, Sink, all_of
from kron.engine.maintenance import Maintenance, maintaining
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.output import FOLDER_NAME as OUTPUT_NAME
from kron.launchers.command.process import boot
from kron.launchers.shadow import SHADOW_SCHEME, ShadowLauncher
from kron.stores.sqlite import SqliteStore

STOP_SECONDS = 1.0  # seconds that the worker has to record what it has begun
SETTLE_SECONDS = 0.5  # seconds for the notifications of what has ended; the next daemon sends the others
WAIT_CHECK_SECONDS = 0.05  # between two checks whether commands still run
MAX_PASSES = 1_000  # of `--once`
RETENTION_DAYS = 90  # for which the records of ended runs are kept


async def run_daemon(options: Options, sink: Sink) -> None:
    """Run a daemon until it gets SIGTERM; with `--once`, until what is due has started."""
    place = options.place
    async with open_store(f"sqlite:{place.state}") as store:
        await check_state(store, place.state, shadow=place.shadow)
        await cast(SqliteStore, store).file.limit_page_cache()
        await Daemon(options, store, sink).run()


class Daemon:
    """One daemon. Its state folder is locked, so that no other daemon uses the store."""

    def __init__(self, options: Options, store: Store, sink: Sink) -> None:
        self.options, self.place, self.manager = options, options.place, ServiceManager()
        self.stop, self.hurry = asyncio.Event(), asyncio.Event()
        self._handle_signals()
        journal = self.place.state.parent / JOURNAL_NAME
        self.has_old_journal = journal.exists()
        installation = Installation(Registrar(store, sink))
        places = Places(self.place.state.parent, journal / OUTPUT_NAME, options.sendmail)
        self.notifier = None if self.place.shadow else Notifier(store, installation, places, sink)
        self.sink = sink = sink if self.notifier is None else all_of(sink, self.notifier.receive)
        lanes = UserLanes(self.place.spool)
        scheme, self.launcher = self._open_launcher(store, journal, lanes)
        self.adopted = len(self.launcher.tasks)
        # The name is the same after a restart: the lock proves that the daemon which had it before has ended. So this
        # daemon takes its place at once, and does not share the schedules with it until its lease expires.
        owner = f"krond:{socket.gethostname()}"
        self.idle = IdleWatch(cast(SqliteStore, store), sink, lambda: self.worker.notify())
        settings = replace(self.idle.settings, target_limits=lanes.limits)
        timer, by_scheme = SystemTimer(), {scheme: self.launcher}
        self.worker = Worker(store, by_scheme, timer, owner=owner, settings=settings, sink=self._receive)
        self.renewed: tuple[float, int] | None = None  # last lease renewal that the service manager was told of
        self.maintenance = Maintenance(store, SystemTimer(), days=RETENTION_DAYS, sink=sink)
        self.reloader = Reloader(self.place.folders, installation, sink, self.manager, self._on_tables)
        self.control = Control(self.place, self.reloader, sink, self.worker.notify)

    async def run(self) -> None:
        """Install the tables, then run until stopped.

        Raises:
            KronError: The folder of the tables or the store cannot be used.
        """
        worker, installation = self.worker, self.reloader.installation
        released = 0
        if isinstance(self.launcher, ShadowLauncher):
            released = await release_unstarted(worker.store, None, worker.owner)
        elif self.has_old_journal:  # a new journal does not know what an earlier daemon has begun
            released = await release_unstarted(worker.store, self.launcher.journal, worker.owner)
        if self.place.spool is not None:
            make_spool(self.place.spool)
        await installation.restore()
        self.reloader.looked = await last_sign(worker.store, worker.owner, installation)
        await self.reloader.load()
        boot_runs = await request_boot_runs(installation.registrar, self.place.state.parent, boot())
        facts = {"adopted": self.adopted, "released": released, "boot_runs": boot_runs}
        async with nullcontext() if self.options.once else self.control.serving():
            self.sink(Event("krond_started", 0, self._facts() | facts))
            self.manager.ready(self.reloader.summary)
            if self.options.once:
                await self._run_once()
                await self._wait_for_commands()
            else:
                await self._run_with_notifications()
        self.sink(Event("krond_stopped", 0, {"pid": os.getpid(), "running": len(self.launcher.tasks)}))

    def _open_launcher(
        self, store: Store, journal: Path, lanes: UserLanes
    ) -> tuple[str, CommandLauncher | ShadowLauncher]:
        """Return the launcher of the commands and its scheme; with `--shadow`, a launcher that starts nothing."""
        if self.place.shadow:
            return SHADOW_SCHEME, ShadowLauncher()
        made = launchers(store, self.sink, commands=str(journal), beat=IDLE_SECONDS)  # no other worker has this journal
        launcher = cast(CommandLauncher, made["command"])
        launcher.lane_of = lanes.lane_of
        return "command", launcher

    async def _run_with_notifications(self) -> None:
        """Run until stopped, and tell about what happened, unless nothing is started."""
        if self.notifier is None or isinstance(self.launcher, ShadowLauncher):
            await self._run_with_tables()
            return
        async with in_background(self.notifier.run()), reaping(self.launcher, self.notifier.deliveries.children):
            await self._run_with_tables()
            await self._wait_for_commands()
            await self.notifier.settle(SETTLE_SECONDS)

    async def _run_with_tables(self) -> None:
        reloading = in_background(self.reloader.follow())
        async with reloading, maintaining(self.maintenance), self.idle.following():
            await self._run_until_stopped()
        self.manager.stopping()

    async def _run_until_stopped(self) -> None:
        """Run the worker. After SIGTERM, it has a second to record what it has begun."""
        work = asyncio.create_task(self.worker.run(self.stop))
        stopped = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({work}, timeout=STOP_SECONDS)
            if work.done():
                work.result()  # raises the error that has ended the worker
        finally:
            work.cancel()
            stopped.cancel()

    async def _run_once(self) -> None:
        for _ in range(MAX_PASSES):
            if await self.worker.tick() or self.stop.is_set():
                break
        await self.worker.leave()

    async def _wait_for_commands(self) -> None:
        """Wait until all commands have ended and this is recorded, up to the time of `--wait`, or a second SIGTERM."""
        deadline = asyncio.get_running_loop().time() + self.options.wait
        while self.launcher.tasks and not self.hurry.is_set() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(WAIT_CHECK_SECONDS)

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop)
        loop.add_signal_handler(signal.SIGHUP, self._on_reload)
        loop.add_signal_handler(signal.SIGUSR1, self._on_state)

    def _on_stop(self) -> None:
        if self.stop.is_set():
            self.hurry.set()
        self.stop.set()

    def _on_tables(self) -> None:
        self.worker.notify()
        if self.notifier is not None:
            self.notifier.wake_up()

    def _on_reload(self) -> None:
        self.reloader.request()

    def _on_state(self) -> None:
        self.sink(Event("krond_state", 0, self._facts()))

    def _receive(self, event: Event) -> None:
        """Pass an event of the worker on. After a pass that wrote, tell the service manager that work goes on."""
        renewed = self.worker.membership.renewed
        if event.name == "pass" and (event.facts["committed"] or renewed != self.renewed):
            self.renewed = renewed
            self.manager.keep_alive()
        self.sink(event)

    def _facts(self) -> dict[str, str | int]:
        return {
            "pid": os.getpid(),
            "config": str(self.place.config),
            "state": str(self.place.state),
            "tables": len(self.reloader.read),
            "refused": len(self.reloader.refused),
            "jobs": self.reloader.installation.count,
            "running": len(self.launcher.tasks),
            "shadow": int(self.place.shadow),
        }
