"""Log levels and texts of events: one line for each event that matters, and none while nothing happens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kron.engine.events import Event
from kron.timing.zone import rfc3339, rfc3339_ms

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR

LEVELS = {
    "pass": DEBUG,
    "pass_failed": DEBUG,  # the first failure of a series is logged as `store_lost`
    "run_recorded": DEBUG,  # logged again when the run is launched or ends
    "launch_fenced": DEBUG,
    "schedule_changed": DEBUG,  # the history of the schedule has it
    "clock_skew_exceeded": DEBUG,  # the first event of a series is logged as `clock_skewed`
    "launch_withheld": WARNING,
    "breaker_opened": WARNING,
    "launch_error": WARNING,
    "cancel_error": WARNING,
    "results_kept": WARNING,
    "tz_databases_differ": WARNING,
    "no_launcher": WARNING,
    "store_lost": ERROR,
    "clock_skewed": ERROR,
    "schedule_set_aside": ERROR,
    "schedule_paused": WARNING,
    "observer_failed": ERROR,
    "log_dropped": WARNING,
    "caller_refused": WARNING,
    "keys_failed": ERROR,
    "audit_failed": ERROR,
    "clock_jumped": WARNING,
    "table_refused": ERROR,
    "tables_unreadable": ERROR,
    "table_ignored": WARNING,
    "socket_failed": ERROR,
    "library_warning": WARNING,
    "notification_failed": WARNING,
    "operator_waiting": WARNING,
    "operator_part_failed": ERROR,
}
_PROBLEM_STATES = frozenset({"failed", "lost", "unknown", "missed", "unschedulable"})


def level_of(event: Event) -> int:
    """Return the level of an event as a `logging` number. An event with an unknown name is INFO."""
    facts = event.facts
    if event.name in ("launch_completed", "run_finished"):
        is_problem = facts["state"] in _PROBLEM_STATES or facts.get("result", "ok") not in ("ok", "shadow")
        return WARNING if is_problem else INFO
    if event.name == "run_recorded" and "timeout_ms" in facts:
        return WARNING  # an attempt exceeded its time limit, and the run will run again
    if event.name == "launch_withheld" and "target" in facts:
        return DEBUG  # a limit delays as it is meant to, and a hold is logged once as `breaker_opened`
    if event.name == "gap_recorded":
        return WARNING if facts["outcome"] == "missed" else INFO
    return LEVELS.get(event.name, INFO)


def text_of(event: Event) -> str:
    """Return an event as one line of text."""
    facts = event.facts
    write_text = _TEXTS.get(event.name)
    if write_text is not None:
        return write_text(facts)
    fields = [f"{name}={value}" for name, value in facts.items() if name not in ("identity", "key")]
    return " ".join([event.name.replace("_", " "), str(facts.get("identity", "")), *fields]).replace("  ", " ")


def _run(facts: Any) -> str:
    request = f" (requested as {facts['trigger']})" if facts.get("trigger") else ""
    return f"run of {facts['identity']} for {rfc3339(facts['nominal'])}{request}"


def _launched(facts: Any) -> str:
    state, attempt = facts["state"], facts["attempt"]
    if facts["result"] == "ok":
        return f"{_run(facts)} {'succeeded' if state == 'success' else 'accepted'}, attempt {attempt}"
    if facts["result"] == "shadow":
        return f"{_run(facts)} recorded in shadow mode; nothing was started"
    reason = f" ({facts['reason']})" if facts.get("reason") else ""
    consequence = "Kron will retry" if state == "retry" else f"{state}{reason}"
    return f"{_run(facts)}: launch result of attempt {attempt} is {facts['result']}; {consequence}"


def _ended(facts: Any) -> str:
    reason = f": {facts['reason']}" if facts.get("reason") else ""
    state_text = {"success": "succeeded"}.get(facts["state"], facts["state"])
    duration = f" in {facts['duration_ms'] / 1000} s" if "duration_ms" in facts else ""
    limit = f", its time limit is {facts['timeout_ms'] / 1000:g} s" if "timeout_ms" in facts else ""
    return f"{_run(facts)} {state_text}{duration}{reason}{limit}"


def _recorded(facts: Any) -> str:
    if "timeout_ms" in facts:
        limit = f"time limit of {facts['timeout_ms'] / 1000:g} s"
        return f"{_run(facts)}: attempt {facts['attempt']} exceeded its {limit}; Kron will retry"
    return f"{_run(facts)} recorded as {facts['state']}"


def _gap(facts: Any) -> str:
    first, last, count = rfc3339(facts["first"]), rfc3339(facts["last"]), facts["count"]
    periods, span = ("1 period", first) if count == 1 else (f"{count} periods", f"{first} to {last}")
    return f"{periods} of {facts['identity']} {facts['outcome']} ({facts['reason']}): {span}"


def _set_aside(facts: Any) -> str:
    until = f" until {rfc3339_ms(facts['until'])}" if "until" in facts else ""
    return f"schedule {facts['identity']} set aside{until}: {facts.get('reason', '')}"


def _opened(facts: Any) -> str:
    return (
        f"target {facts['target']} held after {facts['failures']} failed launches, until {rfc3339_ms(facts['until'])}"
    )


def _started(facts: Any) -> str:
    metrics_text = f"; metrics on {facts['metrics']}" if facts.get("metrics") else ""
    return f"worker {facts['owner']} started on {facts['store']}; it launches {facts['launches']}{metrics_text}"


def _table_refused(facts: Any) -> str:
    kept, place = facts["kept"], f"{facts['place']}: " if "place" in facts else ""
    consequence = "its last valid version stays in force" if kept else "none of its jobs run"
    return f"table {facts['path']} refused, {consequence}: {place}{facts['error']}"


def _krond_started(facts: Any) -> str:
    return f"krond started with {facts['config']} (tables: {facts['tables']}, jobs: {facts['jobs']})"


def _tz_databases(facts: Any) -> str:
    versions = ", ".join(f"{version} ({count})" for version, count in facts["workers"].items())
    return f"workers have different tz databases: {versions}; this worker has {facts['tz']}"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "launch_completed": _launched,
    "run_finished": _ended,
    "run_started": lambda facts: f"{_run(facts)} started, attempt {facts['attempt']}",
    "run_recorded": _recorded,
    "launch_fenced": lambda facts: f"{_run(facts)}: result rejected, another worker has taken over the run",
    "launch_withheld": lambda facts: f"{_run(facts)} not sent: {facts['why']}; Kron will retry",
    "breaker_opened": _opened,
    "breaker_closed": lambda facts: f"target {facts['target']} released: a launch succeeded",
    "launch_error": lambda facts: f"{_run(facts)}: launcher raised {facts['error']}",
    "cancel_error": lambda facts: f"{_run(facts)} could not be canceled: {facts['error']}",
    "gap_recorded": _gap,
    "schedule_set_aside": _set_aside,
    "schedule_changed": lambda facts: f"schedule {facts['identity']} {facts['change']}",
    "schedule_paused": lambda facts: f"schedule {facts['identity']} paused by {facts['actor']}: {facts['note']}",
    "schedule_deleted": lambda facts: f"schedule {facts['identity']} deleted by {facts['actor']}: {facts['note']}",
    "store_lost": lambda facts: f"store unavailable: {facts['error']}",
    "store_back": lambda facts: f"store available again after {facts['failed']} failed passes",
    "clock_skewed": lambda facts: f"clock skew of {facts['skew'] / 1000} s is too large; this worker launches nothing",
    "clock_agrees": lambda facts: "clock skew is within the limit again; this worker continues",
    "shards_gained": lambda facts: f"shard lease gained: this worker has {facts['shards']} shards",
    "shards_lost": lambda facts: f"shard lease lost: this worker has {facts['shards']} shards left",
    "tz_databases_differ": _tz_databases,
    "worker_started": _started,
    "no_launcher": lambda facts: f"this worker launches nothing: {facts['needs']}",
    "table_loaded": lambda facts: f"table {facts['path']} loaded (jobs: {facts['jobs']}, deleted: {facts['deleted']})",
    "table_refused": _table_refused,
    "table_removed": lambda facts: f"table {facts['path']} has vanished (deleted jobs: {facts['deleted']})",
    "table_ignored": lambda facts: f"file {facts['path']} ignored: its name is not a table name",
    "tables_unreadable": lambda facts: f"tables not read, all jobs stay as they are: {facts['error']}",
    "socket_failed": lambda facts: f"krond has no control socket: {facts['error']}",
    "clock_jumped": lambda facts: f"clock jumped from {rfc3339_ms(facts['before'])} to {rfc3339_ms(facts['after'])}",
    "krond_started": _krond_started,
    "notification_sent": lambda facts: (
        f"notification about {facts['identity']} ({facts['events']}) sent: {facts['target']}"
    ),
    "notification_failed": lambda facts: (
        f"notification about {facts['identity']} ({facts['events']}) not sent: {facts['error']}"
    ),
    "library_warning": lambda facts: str(facts["text"]),
    "worker_stopped": lambda facts: f"worker {facts['owner']} has stopped",
    "log_dropped": lambda facts: f"{facts['count']} log lines dropped: the log could not be written fast enough",
}
