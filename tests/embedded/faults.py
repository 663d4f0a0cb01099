"""Planted faults, each of which the oracle must find in a few hundred traces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kron.apps.declarative import overrides
from kron.engine import report_writer
from kron.engine.launcher import Launch
from kron.launchers.python import PythonLauncher
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.outcome import Outcome
from kron.rules.run import ended
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate

_start, _continued, _reported = PythonLauncher.start, overrides._continuing_updates, report_writer.reported


async def _start_twice(self: PythonLauncher, launch: Launch) -> LaunchResult | LaunchResponse:
    answer = await _start(self, launch)
    function = self.function_of(launch.job.target.partition(":")[2])
    assert function is not None
    self.tasks[launch.run.key + "!"] = asyncio.create_task(self._run(function, launch))
    return answer


async def _forget_what_was_due(store: Any, task: Any, case: Any, now: int) -> list[ScheduleUpdate]:
    found = await _continued(store, task, case, now)
    if found:
        return found
    return [ScheduleUpdate(case, case._replace(cursor=max(case.cursor, now // 1000)))]


def _leave_orphans(run: Any, now: int) -> Any:
    return ended(run, State.LOST, now, Outcome.EXECUTED)


def _retry_all(run: Any, report: Report, policy: Any, now: int, attempt: int | None = None) -> Any:
    return _reported(run, Report.FAILED if report is Report.SUCCESS else report, policy, now, attempt)


FAULTS = {
    "double start": (PythonLauncher, "start", _start_twice),
    "lost due after a crash": (overrides, "_continuing_updates", _forget_what_was_due),
    "lost orphan after a crash": (overrides, "_restarted_run", _leave_orphans),
    "retry after success": (report_writer, "reported", _retry_all),
}


@contextmanager
def planted(fault: str) -> Iterator[None]:
    """The engine with a fault in it."""
    with patch.object(*FAULTS[fault]):
        yield
