"""Report writer: records what functions, commands, Jobs and targets report on their runs.

Reports that arrive during a write are written together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kron.engine.batch_writer import BatchWriter
from kron.engine.clock import SystemTimer, Timer
from kron.engine.events import Sink, about, guarded, silent
from kron.engine.request_check import MAX_WRITE_ATTEMPTS, contended_error
from kron.engine.store import Store
from kron.errors import NotFound
from kron.rules.launch_result import Report, next_check_after, reported
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.timing.schedule.policy import Policy


@dataclass(slots=True, eq=False)
class _Entry:
    key: str
    report: Report
    attempt: int | None
    policy: Policy | None
    until: float  # timer time until which a failed write is retried
    failed: Callable[[Exception], None] | None  # called for the first failure; None afterwards
    accepted: asyncio.Future[bool]


class ReportWriter:
    """Batched writer of reports. `sink` receives the runs that end by them."""

    def __init__(self, store: Store, sink: Sink = silent, timer: Timer | None = None) -> None:
        self.store, self.sink = store, sink if sink is silent else guarded(sink)
        self.timer = timer or SystemTimer()
        self.writer: BatchWriter[_Entry] = BatchWriter(self._write, self.timer, self._given_up)
        self.latest = float("inf")  # timer time after which no failed write is retried

    async def write(
        self,
        key: str,
        report: Report,
        attempt: int | None = None,
        *,
        policy: Policy | None = None,
        longest: float = 0.0,
        failed: Callable[[Exception], None] | None = None,
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

        Returns:
            False if the report is too late to count.

        Raises:
            NotFound: The run does not exist.
            Contended: The run is changed concurrently.
        """
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        until = self.timer.monotonic() + longest
        self.writer.put(_Entry(key, report, attempt, policy, until, failed, accepted))
        return await accepted

    def stop_retrying(self, longest: float) -> None:
        """Retry failed writes for `longest` more seconds at most, because the process is stopping."""
        self.latest = self.timer.monotonic() + longest

    def _given_up(self, entry: _Entry, error: Exception, alone: bool) -> bool:
        """Return whether the time of an entry is over; then its error is raised to the task that waits for it."""
        if entry.accepted.done() or self.timer.monotonic() >= min(entry.until, self.latest):
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
            written = await self.store.update_runs([update for _, update in updates], now) if updates else []
            entries = []
            for (entry, update), is_written in zip(updates, written, strict=True):
                if not is_written:
                    entries.append(entry)
                    continue
                _accept(entry, True)
                if self.sink is not silent and not update.after.open:
                    self.sink(about("run_finished", now, update.after))
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
            after = reported(run, entry.report, policy, now, entry.attempt)
            if after is None:
                _accept(entry, False)
            else:
                updates.append((entry, RunUpdate(run, after, next_check_after(after, present, now))))
        return updates, now

    async def _policies(self, runs: Sequence[Run]) -> dict[str, tuple[Policy, Policy]]:
        """Return the policy of each run's revision, and the present policy of its schedule, by the key of the run."""
        if not runs:
            return {}
        names = sorted({run.identity for run in runs})
        states = dict(zip(names, await self.store.get(names), strict=True))
        policies = dict[str, tuple[Policy, Policy]]()
        for run in runs:
            state = states[run.identity]
            assert state is not None  # noqa: S101  a run is stored with its schedule
            policies[run.key] = state.job_of(run).schedule.policy, state.policy
        return policies


def _accept(entry: _Entry, accepted: bool) -> None:
    if not entry.accepted.done():
        entry.accepted.set_result(accepted)


def _raise(entry: _Entry, error: Exception) -> None:
    """Raise an error to the task that waits for the entry."""
    if not entry.accepted.done():
        entry.accepted.set_exception(error)
        entry.accepted.exception()  # marks the error as retrieved: the task may have been canceled
