"""Run cause: why a run ended as it did, in a few words, from its reason and its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import look_of_run
from kron.engine.attempt_text import is_command
from kron.rules.attempt import Attempt, AttemptResult
from kron.rules.run import Run


class RunCause(NamedTuple):
    """Words of Kron, and the words of the target, which are hostile text."""

    text: str
    excerpt: str = ""


def cause_of(run: Run, attempts: Sequence[Attempt], target: str) -> RunCause:
    """Return why a run ended as it did.

    Args:
        run: The run.
        attempts: Those that the store has, oldest first.
        target: Target of the schedule.
    """
    failed = [each for each in attempts if each.result not in (AttemptResult.OK, AttemptResult.SUCCESS)]
    parts = [look_of_run(run).reason]
    if run.tries > 1:
        parts.append(f"{run.tries} attempts")
    last = failed[-1] if failed else None
    if last is not None and last.code is not None:
        parts.append(f"{'exit status' if is_command(target) else 'last answer'} {last.code}")
    return RunCause(", ".join(part for part in parts if part), last.excerpt if last is not None else "")
