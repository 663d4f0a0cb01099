"""How each outcome looks: a word, an icon, a colour and the shape of its mark, so that no colour stands alone."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State


class Look(NamedTuple):
    """Look of an outcome."""

    word: str
    icon: str  # symbol of the page
    tone: str  # CSS class of its colour
    reason: str = ""  # short reason, shown next to the word


SUCCEEDED = Look("Succeeded", "i-ok", "ok")
TAKEN = Look("Taken", "i-ok", "ok")
FAILED = Look("Failed", "i-fail", "fail")
NOT_STARTED = Look("Not started", "i-dead", "fail")
MISSED = Look("Missed", "i-miss", "miss")
SKIPPED = Look("Skipped", "i-skip", "skp")
NO_VALID_TIME = Look("No valid time", "i-uns", "uns")
LOST = Look("Lost", "i-lost", "fail")
UNKNOWN = Look("Unknown", "i-lost", "fail")
CANCELLED = Look("Canceled", "i-skip", "skp")
RUNNING = Look("Running", "i-run", "run")
LATE = Look("Late", "i-late", "miss")
COMING = Look("Coming", "i-due", "due")
PAUSED = Look("Paused", "i-pause", "skp")

SHORT_REASONS = {
    Reason.OVERLAP: "previous run was active",
    Reason.REPLACED: "replaced by a newer period",
    Reason.COALESCED: "coalesced into a newer period",
    Reason.DEADLINE: "past its deadline",
    Reason.CATCHUP_NONE: "no worker was running",
    Reason.REPLAY_BOUND: "too many periods were missed",
    Reason.LAUNCH_FAILED: "could not be launched",
    Reason.FAILED: "the target reported a failure",
    Reason.TIMEOUT: "time limit reached",
    Reason.SILENT: "no report arrived",
    Reason.QUEUE_OVERFLOW: "too many periods were waiting",
    Reason.CONSTRAINTS: "no second satisfied the constraints",
    Reason.UNKNOWN: "may have been executed",
    Reason.DELETED: "the schedule was deleted",
    Reason.PAUSED: "paused",
    Reason.SUSPENDED: "suspended by its policy",
    Reason.SUPERSEDED: "the schedule was changed",
    Reason.ENDED: "the schedule has ended",
    Reason.SHADOW: "shadow mode starts nothing",
}
_OF_STATE = {
    State.PENDING: RUNNING._replace(word="Waiting", icon="i-due", tone="due"),
    State.LAUNCHING: RUNNING._replace(word="Launching"),
    State.RETRY: RUNNING._replace(word="Retrying"),
    State.ENQUEUED: RUNNING._replace(word="Taken"),
    State.STARTED: RUNNING,
    State.WAITING: FAILED._replace(word="Failed, will run again"),
    State.SUCCESS: SUCCEEDED,
    State.FAILED: FAILED,
    State.CANCELLED: CANCELLED,
    State.LOST: LOST,
    State.UNKNOWN: UNKNOWN,
    State.SKIPPED: SKIPPED,
    State.MISSED: MISSED,
    State.UNSCHEDULABLE: NO_VALID_TIME,
}
_OF_OUTCOME = {
    Outcome.EXECUTED: SUCCEEDED,
    Outcome.SKIPPED: SKIPPED,
    Outcome.MISSED: MISSED,
    Outcome.UNSCHEDULABLE: NO_VALID_TIME,
}


def look_of_run(run: Run) -> Look:
    """Return the look of a run, with its reason."""
    return NOT_STARTED._replace(reason=_short(run.reason)) if run.dead else look_of(run.state, run.reason)


def look_of(state: State, reason: Reason | None) -> Look:
    """Return the look of a state, with its reason."""
    return _OF_STATE[state]._replace(reason=_short(reason))


def look_of_outcome(outcome: Outcome, reason: Reason | None) -> Look:
    """Return the look of an outcome without a run, such as that of a gap record."""
    return _OF_OUTCOME[outcome]._replace(reason=_short(reason))


def _short(reason: Reason | None) -> str:
    return "" if reason is None else SHORT_REASONS[reason]
