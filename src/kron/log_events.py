"""Log levels and texts of events: quiet while nothing happens, one line for each event that matters."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kron.core.zone import rfc3339, rfc3339_ms
from kron.events import Event

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR

LEVELS = {
    "pass": DEBUG,
    "pass_failed": DEBUG,  # the first of a series is told as `store_lost`
    "run_recorded": DEBUG,  # told again when it is launched or ends
    "launch_fenced": DEBUG,
    "clock_astray": DEBUG,  # the first of a series is told as `clock_skewed`
    "launch_withheld": WARNING,
    "launch_error": WARNING,
    "cancel_error": WARNING,
    "results_kept": WARNING,
    "store_lost": ERROR,
    "clock_skewed": ERROR,
    "schedule_set_aside": ERROR,
    "observer_failed": ERROR,
    "log_dropped": WARNING,
    "caller_refused": WARNING,
    "keys_failed": ERROR,
    "audit_failed": ERROR,
}
_BAD = frozenset({"failed", "lost", "unknown", "missed", "unschedulable"})


def level_of(event: Event) -> int:
    """Return the level of an event, as `logging` numbers them. An event of an unknown name is INFO."""
    facts = event.facts
    if event.name in ("launch_answered", "run_ended"):
        bad = facts["state"] in _BAD or facts.get("answer", "ok") != "ok"
        return WARNING if bad else INFO
    if event.name == "gap_recorded":
        return WARNING if facts["verdict"] == "missed" else INFO
    return LEVELS.get(event.name, INFO)


def text_of(event: Event) -> str:
    """Return an event as one line for people."""
    facts = event.facts
    say = _TEXTS.get(event.name)
    if say is not None:
        return say(facts)
    words = [f"{name}={value}" for name, value in facts.items() if name not in ("identity", "key")]
    return " ".join([event.name.replace("_", " "), str(facts.get("identity", "")), *words]).replace("  ", " ")


def _run(facts: Any) -> str:
    asked = f" (asked for as {facts['trigger']})" if facts.get("trigger") else ""
    return f"run {facts['identity']} of {rfc3339(facts['nominal'])}{asked}"


def _launched(facts: Any) -> str:
    state, attempt = facts["state"], facts["attempt"]
    if facts["answer"] == "ok":
        return f"{_run(facts)} {'succeeded' if state == 'success' else 'accepted'}, attempt {attempt}"
    reason = f" ({facts['reason']})" if facts.get("reason") else ""
    then = "will be tried again" if state == "retry" else f"{state}{reason}"
    return f"{_run(facts)}: attempt {attempt} answered {facts['answer']}; {then}"


def _ended(facts: Any) -> str:
    reason = f": {facts['reason']}" if facts.get("reason") else ""
    word = {"success": "succeeded"}.get(facts["state"], facts["state"])
    return f"{_run(facts)} {word}{reason}"


def _gap(facts: Any) -> str:
    span = f"{rfc3339(facts['first'])} to {rfc3339(facts['last'])}"
    return f"{facts['count']} periods of {facts['identity']} {facts['verdict']} ({facts['reason']}): {span}"


def _aside(facts: Any) -> str:
    until = f" until {rfc3339_ms(facts['until'])}" if "until" in facts else ""
    return f"schedule {facts['identity']} set aside{until}: {facts.get('reason', '')}"


def _started(facts: Any) -> str:
    where = f"; metrics on {facts['metrics']}" if facts.get("metrics") else ""
    return f"worker {facts['owner']} works on {facts['store']} and launches {facts['launches']}{where}"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "launch_answered": _launched,
    "run_ended": _ended,
    "run_recorded": lambda facts: f"{_run(facts)} recorded as {facts['state']}",
    "launch_fenced": lambda facts: f"{_run(facts)}: another worker has taken over",
    "launch_withheld": lambda facts: f"{_run(facts)} not sent: {facts['why']}; it will be tried again",
    "launch_error": lambda facts: f"{_run(facts)}: {facts['error']}",
    "cancel_error": lambda facts: f"{_run(facts)} could not be canceled: {facts['error']}",
    "gap_recorded": _gap,
    "schedule_set_aside": _aside,
    "store_lost": lambda facts: f"store lost: {facts['error']}",
    "store_back": lambda facts: f"store back after {facts['failed']} failed passes",
    "clock_skewed": lambda facts: f"clock skew of {facts['skew'] / 1000} s: this worker launches nothing",
    "clock_agrees": lambda facts: "clock skew is over: this worker goes on",
    "shards_gained": lambda facts: f"lease gained: {facts['shards']} shards",
    "shards_lost": lambda facts: f"lease lost: {facts['shards']} shards left",
    "worker_started": _started,
    "worker_stopped": lambda facts: f"worker {facts['owner']} has stopped",
    "log_dropped": lambda facts: f"{facts['count']} log lines dropped: the log could not be written fast enough",
}
