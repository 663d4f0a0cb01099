"""Report writer: records what functions, commands, Jobs and targets report on their runs.

Reports that arrive during a write are written together, if they are within the same tenant scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kron.engine.batch_writer import BatchWriter
from kron.engine.clock import SystemTimer, Timer
from kron.engine.events import Sink, about, guarded, silent
from kron.engine.request_check import MAX_WRITE_ATTEMPTS, contended_error, require_schedule
from kron.engine.setting_aside import SCHEDULE_ERRORS
from kron.engine.store import Store
from kron.engine.tenant_scope import tenant_scope
from kron.errors import NotFound
from kron.rules.attempt import reported_attempt
from kron.rules.counters import failed_end
from kron.rules.launch_result import Report, end_of, next_check_after, reported
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.timing.schedule.policy import Policy

MAX_SCOPES = 1_000  # tenant scopes whose writers are kept although they have nothing to write


@dataclass(slots=True, eq=False)
class _Entry:
    key: str
    report: Report
    attempt: int | None
    policy: Policy | None
    began: float  # timer time at which the report arrived
    longest: float  # seconds for which a failed write is retried
    failed: Callable[[Exception], None] | None  # called for the first failure; None afterwards
    code: int | None
    excerpt: str
    ended: int | None  # milliseconds
    accepted: asyncio.Future[bool]
    uncertain: Run | None = None  # the run as the last write left it, if the response to that write was lost


class ReportWriter:
    """Batched writer of reports. `sink` receives the runs that end by them."""

    def __init__(self, store: Store, sink: Sink = silent, timer: Timer | None = None) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)
        self.timer = timer or SystemTimer()
        self.writers: dict[str, BatchWriter[_Entry]] = {}  # by tenant scope: a batch is written within one scope
        self.stopped, self.last_seconds = 0.0, float("inf")  # timer time of the stop, and seconds of retries after it

    async def write(
        self,
        key: str,
        report: Report,
        attempt: int | None = None,
        *,
        policy: Policy | None = None,
        longest: float = 0.0,
        failed: Callable[[Exception], None] | None = None,
        code: int | None = None,
        excerpt: str = "",
        ended: int | None = None,
    ) -> bool:
        """Record a report on a run.

        Args:
            key: Key of the run.
            report: What the target reports.
            attempt: Attempt that the report is about: the last one that the target has seen. A target whose reports can
                arrive twice must give it.
            policy: Policy of the run's revision; None reads it from the store.
            longest: Seconds for which a failed write is retried; then its error is raised.
            failed: Called with the error of the first failed write, if the write is retried.
            code: Exit status of the execution, if it has one.
            excerpt: Why the execution failed. 200 characters of it are kept with the attempt.
            ended: When the execution ended, in milliseconds, if it is reported late; None: now.

        Returns:
            False if the report is too late to count.

        Raises:
            NotFound: The run does not exist.
            Contended: The run is changed concurrently.
        """
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        began = self.timer.monotonic()
        self._writer().put(_Entry(key, report, attempt, policy, began, longest, failed, code, excerpt, ended, accepted))
        return await accepted

    def stop_retrying(self, longest: float) -> None:
        """Retry failed writes for at most `longest` seconds from now, or from the arrival of a later report.

        For a process that is stopping.
        """
        self.stopped, self.last_seconds = self.timer.monotonic(), longest

    async def drain(self) -> None:
        """Wait until every report is written or given up."""
        for writer in list(self.writers.values()):
            await writer.drain()

    def _writer(self) -> BatchWriter[_Entry]:
        """Return the writer of the present tenant scope. Its task runs within this scope."""
        scope = tenant_scope()
        if len(self.writers) >= MAX_SCOPES:
            self.writers = {name: writer for name, writer in self.writers.items() if writer.busy}
        if scope not in self.writers:
            self.writers[scope] = BatchWriter(self._write, self.timer, self._given_up)
        return self.writers[scope]

    def _given_up(self, entry: _Entry, error: Exception, alone: bool) -> bool:
        """Return whether the time of an entry is over; then its error is raised to the task that waits for it."""
        if isinstance(error, SCHEDULE_ERRORS) and not alone:  # the error may be that of another entry
            return False
        end = min(entry.began + entry.longest, max(entry.began, self.stopped) + self.last_seconds)
        if entry.accepted.done() or self.timer.monotonic() >= end:
            _raise(entry, error)
            return True
        if entry.failed:
            entry.failed(error)
            entry.failed = None
        return False

    async def _write(self, entries: list[_Entry]) -> None:
        """Write reports. Runs that were modified concurrently are read again."""
        for _ in range(MAX_WRITE_ATTEMPTS):
            updates, now = await self._updates(entries)
            for entry, update in updates:
                entry.uncertain = update.after
            written = await self.store.update_runs([update for _, update in updates], now) if updates else []
            entries = []
            for (entry, update), is_written in zip(updates, written, strict=True):
                if is_written:
                    self._accepted(entry, update.after, now)
                else:
                    entry.uncertain = None
                    entries.append(entry)
            if not entries:
                return
        for entry in entries:
            _raise(entry, contended_error(entry.key))

    async def _updates(self, entries: Sequence[_Entry]) -> tuple[list[tuple[_Entry, RunUpdate]], int]:
        """Return the run update of each report that counts, and the time of the store. The others are answered."""
        runs, now = await self.store.runs_by_key([entry.key for entry in entries]), await self.store.now()
        pairs = [(run, entry) for run, entry in zip(runs, entries, strict=True) if run]
        for entry in set(entries) - {entry for _, entry in pairs}:
            hint = "use the key that the run was sent with"
            _raise(entry, NotFound("NOT_FOUND", f"run {entry.key} does not exist", hint=hint))
        policies = await self._policies([run for run, entry in pairs if entry.policy is None])
        updates = list[tuple[_Entry, RunUpdate]]()
        for run, entry in pairs:
            policy, present = (entry.policy, entry.policy) if entry.policy else policies[run.key]
            end = end_of(run, entry.ended, now)
            after = reported(run, entry.report, policy, now, entry.attempt, end)
            if run == entry.uncertain:  # the write succeeded, and its response was lost
                self._accepted(entry, run, now)
            elif after is None:
                _answer(entry, False)
            else:
                attempt = reported_attempt(run, entry.report, end, entry.attempt, entry.code, entry.excerpt)
                next_check_at, failed = next_check_after(after, present, now), failed_end(after, policy)
                update = RunUpdate(run, after, next_check_at, attempt=attempt, failed=failed)
                updates.append((entry, update))
        return updates, now

    def _accepted(self, entry: _Entry, run: Run, now: int) -> None:
        _answer(entry, True)
        if self.sink is not silent and not run.open:
            self.sink(about("run_finished", now, run))

    async def _policies(self, runs: Sequence[Run]) -> dict[str, tuple[Policy, Policy]]:
        """Return the policy of each run's revision, and the present policy of its schedule, by the key of the run."""
        if not runs:
            return {}
        names = sorted({run.identity for run in runs})
        states = dict(zip(names, await self.store.get(names), strict=True))
        policies = dict[str, tuple[Policy, Policy]]()
        for run in runs:
            state = require_schedule(states[run.identity], run.identity, deleted=True)
            policies[run.key] = state.job_of(run).schedule.policy, state.policy
        return policies


def _answer(entry: _Entry, accepted: bool) -> None:
    if not entry.accepted.done():
        entry.accepted.set_result(accepted)


def _raise(entry: _Entry, error: Exception) -> None:
    """Raise an error to the task that waits for the entry."""
    if not entry.accepted.done():
        entry.accepted.set_exception(error)
        entry.accepted.exception()  # marks the error as retrieved: the task may have been canceled
