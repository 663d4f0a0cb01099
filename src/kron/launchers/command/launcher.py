"""Host command launcher. A journal holds every key that was begun, so that no command runs twice after any crash."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from math import inf
from pathlib import Path
from subprocess import DEVNULL, SubprocessError
from typing import Any

from kron.engine.clock import Clock, SystemClock
from kron.engine.launcher import Launch, Tell
from kron.launchers.command.cgroup import Cgroups
from kron.launchers.command.ending import NOT_STARTED, Endings, cause_of, killed_status, limits_of
from kron.launchers.command.journal import Entry, Journal, process_entry
from kron.launchers.command.keeper import Files, spawn_keeper
from kron.launchers.command.log_stream import Loggers
from kron.launchers.command.orphans import Orphans
from kron.launchers.command.output import FOLDER_NAME, Outputs
from kron.launchers.command.process import Process, ticks
from kron.launchers.command.rights import rights_of
from kron.launchers.command.streams import plan_streams
from kron.rules.excerpt import excerpt_of_end, excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run, overlap_of
from kron.timing.job import Command, Job
from kron.timing.schedule.policy import SECOND, Overlap, WorkerLossPolicy

log = logging.getLogger("kron.launchers.command")

LANE = "command"  # of all commands of a worker
POLL_SECONDS = 2.0  # seconds between two checks of the journal, and between two renewals of the lease of an adopted run
CHECKS_PER_RENEWAL = 30  # checks of the journal after which the leases of commands of other workers are renewed
MAX_STARTS = 8  # commands begun at once: each waits for the journal's disk
SLOT_SECONDS = 5.0  # seconds that a command waits for a free slot; less than the time limit of a launch
NOT_BEGUN = LaunchResponse(LaunchResult.UNSENT, 1_000, excerpt="too many commands were starting on this host")
NOT_ENDED = LaunchResponse(LaunchResult.UNSENT, 1_000, excerpt="the command of the replaced run has not ended yet")
NO_COMMAND = LaunchResponse(LaunchResult.REJECTED, excerpt="the job has no command")
BEGUN_BEFORE = LaunchResponse(LaunchResult.UNKNOWN, excerpt="an earlier attempt began, and how it ended is unknown")
NO_END = "its processes are gone, and nothing says how it ended"
START_ERRORS = (OSError, LookupError, ValueError, SubprocessError)  # unknown folder, user or file; no permission
Started = LaunchResult | LaunchResponse


class CommandLauncher:
    """Launcher of host commands. Each command has its own session, so that it outlives this worker."""

    is_local = True

    def __init__(
        self,
        journal: Journal,
        tell: Tell,
        clock: Clock | None = None,
        *,
        beat: float = POLL_SECONDS,
        cgroup_folder: Path | None = None,
    ) -> None:
        self.journal, self.tell, self.clock, self.beat = journal, tell, clock or SystemClock(), beat
        self.cgroups, self.orphans = Cgroups(cgroup_folder, journal.id), Orphans(any_session=os.getpid() == 1)
        self.outputs, self.endings = Outputs(journal.folder / FOLDER_NAME), Endings(journal, self.cgroups)
        self.children = set[int]()  # keepers that this worker has started and not reaped
        self.spawner, self.loggers = ThreadPoolExecutor(1, "kron-spawn"), Loggers()
        self.gate, self.patience = asyncio.Semaphore(MAX_STARTS), SLOT_SECONDS
        self.starting: dict[str, asyncio.Task[Started]] = {}  # by the key of the run
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.adopting: asyncio.Task[None] | None = None
        self.lane_of: Callable[[Job], str] = lambda job: LANE

    def lane(self, job: Job) -> str:
        """Return what the starts of a job are counted by: all commands together, unless the application differs."""
        return self.lane_of(job)

    def adopt(self) -> None:
        """Follow the commands that other workers of this host started and whose end the journal does not have.

        First those of earlier workers, then without end those of workers that are killed while this one runs.
        """
        for key in self.journal.unended():
            self._start_task(key, self._follow(key, self.journal.look(key) or Entry()))
        self.adopting = asyncio.create_task(self._adopt_orphans())

    async def _adopt_orphans(self) -> None:
        """Follow each command whose process is gone and whose worker did not record the end by the next check.

        Whether the worker of a running command lives is unknown, so that the run lease is renewed now and then. A
        command whose time limit has passed is ended, whichever worker started it.
        """
        gone = set[str]()
        for check in count(1):
            await asyncio.sleep(self.beat)
            try:
                unended = await asyncio.to_thread(self._unended_without, frozenset(self.tasks))
            except (OSError, sqlite3.Error) as error:  # a full disk, for example: the next check finds them
                log.warning("the command journal cannot be read; this is tried again: %s", error)
                continue
            for key in gone & unended.keys():
                self._start_task(key, self._follow(key, unended[key]))
            gone = {key for key, entry in unended.items() if not entry.alive}
            for key in unended.keys() - gone:
                self.endings.begin_overdue(key, unended[key])
                if check % CHECKS_PER_RENEWAL == 0:
                    await self.tell(key, Report.STARTED)

    def holds(self, key: str) -> bool:
        """Return whether this launcher follows the command of a run, so that the run is not lost."""
        return key in self.tasks

    def _unended_without(self, followed: frozenset[str]) -> dict[str, Entry]:
        return {key: self.journal.look(key) or Entry() for key in self.journal.unended() if key not in followed}

    async def start(self, launch: Launch) -> Started:
        """Start the command, unless its key was begun before: then the result says what is known of that attempt.

        If no slot is free in time, the command was not begun (UNSENT). Neither was it if it replaces a command that has
        not ended yet. Once begun, the launcher follows the command to its end, even if the caller is canceled; a caller
        that asks again gets the result of that start.
        """
        command, key = launch.job.command, launch.run.key
        if command is None:
            return NO_COMMAND
        if key in self.starting:
            return await asyncio.shield(self.starting[key])
        replaces = overlap_of(launch.run, launch.job.schedule.policy) is Overlap.REPLACE
        if replaces and not await self.endings.wait_for_job(launch.run.identity, self.patience):
            return NOT_ENDED
        try:
            async with asyncio.timeout(self.patience):
                await self.gate.acquire()
        except TimeoutError:
            return NOT_BEGUN
        task = self.starting[key] = asyncio.ensure_future(self._begin(command, launch))
        task.add_done_callback(lambda _: self._release_slot(key))
        return await asyncio.shield(task)

    def _release_slot(self, key: str) -> None:
        self.starting.pop(key, None)
        self.gate.release()

    async def _begin(self, command: Command, launch: Launch) -> Started:
        key, now = launch.run.key, int(self.clock.now())
        if await asyncio.to_thread(self.journal.begin, key, now):
            return await self._spawn(command, launch)
        entry = await asyncio.to_thread(self.journal.look, key) or Entry()
        if entry.alive or await asyncio.to_thread(self.journal.status, key) is not None:
            self._start_task(key, self._follow(key, entry))
            return LaunchResult.OK
        restarts = launch.job.schedule.policy.on_worker_loss is WorkerLossPolicy.RESTART
        if restarts and await asyncio.to_thread(self.journal.begin_again, key, now, entry):
            return await self._spawn(command, launch)
        return BEGUN_BEFORE

    async def cancel(self, run: Run) -> None:
        """End the command and all its processes, and wait until they have ended.

        They get SIGTERM, and SIGKILL if they have not ended after the grace period. This works for each command of this
        host, whichever worker started it.
        """
        entry = await asyncio.to_thread(self.journal.look, run.key)
        if entry is not None and entry.alive:
            await asyncio.shield(self.endings.begin(run.key, entry, run.identity))

    async def reap_orphans(self, own: Collection[int] = ()) -> Orphans:
        """Reap the processes that commands have left and that have ended, and count the others.

        This is for a process that is a subreaper. It takes place between two starts, so that no new child is unknown.
        `own` are children that other parts of this process have started and wait for.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(
            self.spawner, lambda: self.orphans.look(self.children | self.loggers.children | set(own))
        )
        return self.orphans

    async def _spawn(self, command: Command, launch: Launch) -> Started:
        """Start a command. One thread starts all of them, because the start of a process blocks."""
        key, loop = launch.run.key, asyncio.get_running_loop()
        try:
            pid, output = await loop.run_in_executor(self.spawner, self._create_process, command, launch)
        except START_ERRORS as error:
            await asyncio.to_thread(self.journal.ended, key, NOT_STARTED)
            return LaunchResponse(LaunchResult.REJECTED, excerpt=excerpt_of_error(error))
        finally:
            self.loggers.follow()
        process, limits = Process(pid, ticks(pid), is_child=True), limits_of(command)
        try:
            entry = await asyncio.to_thread(self.journal.started, key, pid, limits, output)
        except (OSError, sqlite3.Error) as error:  # the command runs, and this worker follows it
            log.warning("the command journal cannot be written: %s", error)
            entry = process_entry(pid, limits, output)
        self.tasks.pop(key, None)  # the task that follows an earlier attempt
        renewal_seconds = launch.job.schedule.policy.run_lease / SECOND / 3
        self._start_task(key, self._follow_process(key, entry, process, renewal_seconds))
        return LaunchResult.OK

    def _create_process(self, command: Command, launch: Launch) -> tuple[int, str | None]:
        """Start the keeper of a command. Returns its process id and the name of the file of its captured output."""
        rights = rights_of(command.user, command.group)
        plan = plan_streams(command, launch.job, launch.run, rights)
        status = self.journal.status_file(launch.run.key)
        output = self.outputs.create(launch.run) if plan.captures else None
        try:
            cgroup = self.cgroups.create(launch.run.key)
            files = Files(status, DEVNULL if output is None else output.file, self.journal.id, cgroup)
            pid = spawn_keeper(command, plan, rights, files, self.loggers)
            self.children.add(pid)
            return pid, output and output.name
        except START_ERRORS:
            self.outputs.remove(output)
            self.cgroups.remove(launch.run.key)
            raise
        finally:
            os.close(status)
            if output is not None:
                os.close(output.file)

    async def _follow(self, key: str, entry: Entry) -> None:
        """Follow a process that is not a child. It is identified after its pidfd is open: the id may be reused."""
        if entry.pid is None or not entry.alive:
            return await self._record_end(key, entry, None)
        process = Process(entry.pid, entry.ticks, is_child=False)
        if not process.is_alive:
            process.close()
            return await self._record_end(key, entry, None)
        return await self._follow_process(key, entry, process, self.beat)

    async def _follow_process(self, key: str, entry: Entry, process: Process, renewal_seconds: float) -> None:
        """Wait for a process up to the command's timeout, renew the run lease meanwhile, then record its end."""
        self.outputs.watch(key, entry.output)
        try:
            if not process.is_child:
                await self.tell(key, Report.STARTED)
            is_asked = entry.asked_at is not None
            if is_asked:  # by another worker: this one goes on
                self.endings.begin(key, entry)
            while True:
                seconds_left = inf if is_asked else self.endings.seconds_left(entry)
                if await process.ends_within(min(renewal_seconds, seconds_left)):
                    break
                if seconds_left <= renewal_seconds:
                    is_asked = True
                    self.endings.begin(key, entry)
                else:
                    await self.tell(key, Report.STARTED)
            await self.endings.wait_for_key(key)
            status = process.reap()
        finally:
            process.close()
            self.children.discard(process.pid)
            self.outputs.forget(key)
        await self._record_end(key, entry, status)

    async def _record_end(self, key: str, entry: Entry, status: int | None) -> None:
        """Report the end of a command, and only then record it: after a crash in between, it is reported again.

        Without a status, the end stays unknown, unless a worker has ended the command. A command that ended while no
        worker followed it has left the time of its end with its status.
        """
        ended = await asyncio.to_thread(self.journal.ended_at, key) if status is None else None
        if status is None:
            status = await asyncio.to_thread(self.journal.status, key)
        last_entry = await asyncio.to_thread(self.journal.look, key) if status != 0 else None
        out_of_memory = status != 0 and await asyncio.to_thread(self.cgroups.has_killed_for_memory, key)
        await asyncio.to_thread(self.cgroups.remove, key)
        if status is None:
            status = killed_status(last_entry, out_of_memory=out_of_memory)
        if status is None:
            await asyncio.to_thread(self.journal.begin_again, key, entry.at, entry)  # unknown whether it ended
            await self.tell(key, Report.LOST, None, NO_END, ended)
            return
        excerpt = ""
        if status:
            tail = await asyncio.to_thread(self.outputs.tail, entry.output)
            excerpt = excerpt_of_end(cause_of(last_entry, status, out_of_memory=out_of_memory), tail)
        await self.tell(key, Report.FAILED if status else Report.SUCCESS, status, excerpt, ended)
        await asyncio.to_thread(self.journal.ended, key, status)
        await asyncio.to_thread(self.outputs.clean, entry.output, self.clock.now())

    def _start_task(self, key: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine` as a task; if the key has a task already, drop `coroutine`."""
        if key in self.tasks:
            coroutine.close()
            return
        task = self.tasks[key] = asyncio.create_task(coroutine)

        def forget(ended: asyncio.Task[None]) -> None:
            if self.tasks.get(key) is ended:
                del self.tasks[key]

        task.add_done_callback(forget)
