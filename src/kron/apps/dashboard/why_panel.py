"""Why panel: what was decided about a period, when it was due, what stood in the way, and its outcome.

The sentences are those of `PeriodReport`, as `kron why` prints them.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import Look
from kron.apps.dashboard.rung import look_of_line
from kron.engine.attempt_text import attempt_text
from kron.engine.period_report import PeriodReport, action_text
from kron.engine.periods import PeriodLine
from kron.language.canonical import canonical, unparse
from kron.rules.attempt import without_worker_names
from kron.rules.launch_result import latest_claim
from kron.timing.decision import decide
from kron.timing.due import window_of
from kron.timing.schedule.policy import MILLISECOND

MAX_COMMAND_LENGTH = 4_000  # characters; a longer command is not shown


class Drawing(NamedTuple):
    """How the second was chosen. Times are milliseconds."""

    start: int
    end: int
    distribution: str
    draws: int
    seed: str


class Why(NamedTuple):
    """Report on one period, in parts.

    Attributes:
        line: The period.
        look: Its outcome.
        summary: Outcome and reason in a sentence.
        drawing: How the second was chosen; None without a window.
        latest: Until when a worker may claim the run, in milliseconds; None without a deadline.
        deadline: Why the run started later than that; empty for others.
        obstacles: What stood in the way: a pause, or that no worker can launch the target.
        attempts: The recorded attempts, in words.
        command: Shell command that computes the decision again and verifies it; empty if the calendar has none.
        report: All sentences of the report.
    """

    line: PeriodLine
    look: Look
    summary: str
    drawing: Drawing | None
    latest: int | None
    deadline: str
    obstacles: list[str]
    attempts: list[str]
    command: str
    report: list[str]


def why_of(line: PeriodLine, *, is_tenant: bool = False) -> Why:
    """Return the parts of the report on a period. Tenants do not see the names of workers."""
    if is_tenant:
        line = replace(line, report=replace(line.report, attempts=without_worker_names(line.report.attempts)))
    report, job = line.report, line.revision.job
    policy = job.schedule.policy
    obstacles = [action_text(report.action)] if report.action is not None else []
    return Why(
        line,
        look_of_line(line),
        line.text.partition(": ")[2],
        _drawing(line),
        None if policy.deadline is None else latest_claim(line.due, policy),
        report.deadline_text(),
        obstacles if report.launchable else [*obstacles, report.unlaunchable_text()],
        [attempt_text(attempt, job.target) for attempt in report.attempts],
        check_command(report),
        list(report.lines()),
    )


def check_command(report: PeriodReport) -> str:
    """Return the shell command that computes the decision of a period again, on any machine, and verifies it."""
    if not report.decided:
        return ""
    schedule = report.revision.job.schedule
    dialect, zone = canonical(schedule).dialect, schedule.zone.name
    words = ["kron", "explain", unparse(schedule), "--identity", report.identity, "--period", report.period.id]
    if dialect != "kron":
        words += ["--dialect", dialect]
    if dialect == "service":
        words += ["--timezone", zone]
    command = f"{shlex.join([*words, '--output', 'json'])} | kron verify"
    return command if len(command) <= MAX_COMMAND_LENGTH else ""


def _drawing(line: PeriodLine) -> Drawing | None:
    """Return how the second was chosen. Jitter is drawn from the key, so it has no draws to tell of."""
    job, report = line.revision.job, line.report
    if line.window is None or line.window.start == line.window.end:
        return None
    start, end = (time // MILLISECOND for time in window_of(job, line.period.nominal))
    if job.schedule.policy.jitter:
        return Drawing(start, end, "jitter", 1, "")
    decision = decide(job.schedule, report.period, report.identity)
    return Drawing(start, end, job.schedule.distribution.name, decision.draws, decision.seed_hash)
