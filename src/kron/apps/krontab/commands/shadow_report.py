"""`krontab shadow-report`: compare the records of a shadow daemon with the log of cron."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import instant_argument, now
from kron.apps.daemon.shadow_state import check_state
from kron.apps.declarative.host import system_zone
from kron.apps.krontab.parser import read_place
from kron.apps.krontab.records import ask_records
from kron.apps.krontab.shadow.comparison import Comparison, Side, compare
from kron.apps.krontab.shadow.cron_log import CronLog, Task, read_log
from kron.apps.krontab.shadow.log_source import JOURNAL, default_source, log_lines
from kron.apps.krontab.shadow.periods import TaskPeriods, read_periods
from kron.apps.plural import plural
from kron.engine.registrar import Registrar
from kron.errors import NotFound
from kron.language.reading import zone_of
from kron.timing.zone import rfc3339

SETTLING = 60  # seconds; a minute is compared after the next one has passed
MAX_COMMAND = 60  # characters of a command without a job in the table


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the comparison.

    Returns:
        0 if cron and Kron ran the same periods; else 1.
    """
    args.shadow = True
    place = read_place(args)
    sources = args.log or [default_source()]
    since, at = instant_argument(args.since) if args.since else 0, now(args)
    zone = zone_of(args.timezone or system_zone("add --timezone ZONE, such as Europe/Paris"))

    async def periods(registrar: Registrar) -> dict[Task, TaskPeriods]:
        await check_state(registrar.store, place.state, shadow=True)
        return await read_periods(registrar.store, place, since, at)

    tasks = ask_records(place, periods)
    began = min((group.began for group in tasks.values()), default=at * 1000)
    start = max(since, _next_second(began))
    log_start = start // 60 * 60
    log = read_log(log_lines(sources, zone, log_start, at), log_start * 1000)
    start, end = max(start, _log_start(log, sources)), (at - SETTLING) // 60 * 60
    if end <= start:
        screen.note("note: nothing to compare yet: a minute is compared after the next one has passed")
    result = compare(tasks, log, start, end)
    if args.output == "json":
        screen.json(_json(result, log, sources, start, end))
    else:
        _print(screen, result, log, sources, start, end, args.count)
    return int(bool(result.differences))


def _log_start(log: CronLog, sources: Sequence[str]) -> int:
    """Return the second in which a log begins. The journal is read from the first compared minute on."""
    if sources[0] == JOURNAL:
        return 0
    if log.first is None:
        raise NotFound("NOT_FOUND", f"{', '.join(sources)} has no lines of a system log", hint="name another --log")
    return _next_second(log.first)


def _next_second(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


def _print(
    screen: Screen, result: Comparison, log: CronLog, sources: Sequence[str], start: int, end: int, count: int
) -> None:
    screen.line(f"from {rfc3339(start)} to {rfc3339(end)}, log of cron: {', '.join(sources)}")
    counts = {side: result.count(side) for side in Side}
    screen.line(
        f"both: {len(result.both):,}, only cron: {counts[Side.CRON]:,}, only Kron: {counts[Side.KRON]:,}, "
        f"neither: {result.neither:,}"
    )
    for name, late in _lateness(result).items():
        screen.line(f"{name} late by {_seconds(late['median'])} (median), at most {_seconds(late['maximum'])}")
    for note in _notes(log):
        screen.note(f"note: {note}")
    if result.differences:
        rows = [
            [rfc3339(each.nominal), each.side, each.job or _short(each.task), each.why]
            for each in result.differences[:count]
        ]
        screen.line()
        screen.table(["MINUTE", "ONLY", "JOB", "WHY"], rows)
    if result.differences[count:]:
        screen.note(
            f"{plural(len(result.differences) - count, 'more difference')}: -n shows more, and -o json shows all"
        )


def _short(task: Task) -> str:
    text = f"({task.user}) {task.command}"
    return text if len(text) <= MAX_COMMAND else f"{text[: MAX_COMMAND - 1]}…"


def _lateness(result: Comparison) -> Mapping[str, Mapping[str, int]]:
    """Return the lateness of the periods that both ran, in milliseconds."""
    if not result.both:
        return {}
    values = {"cron": [each.cron_late for each in result.both], "Kron": [each.kron_late for each in result.both]}
    return {name: {"median": sorted(late)[len(late) // 2], "maximum": max(late)} for name, late in values.items()}


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _notes(log: CronLog) -> Iterator[str]:
    if log.cut:
        yield f"{plural(log.cut, 'line')} of cron lost the end of the command, and cannot be compared"
    if log.unclear:
        yield f"{plural(log.unclear, 'line')} of cron can stand for two instants, because the clocks went back"


def _json(result: Comparison, log: CronLog, sources: Sequence[str], start: int, end: int) -> dict[str, Any]:
    return {
        "from": rfc3339(start),
        "to": rfc3339(end),
        "log": list(sources),
        "both": len(result.both),
        "only_cron": result.count(Side.CRON),
        "only_kron": result.count(Side.KRON),
        "neither": result.neither,
        "late_ms": {name.lower(): late for name, late in _lateness(result).items()},
        "differences": [
            {"minute": rfc3339(each.nominal), "only": each.side.lower(), "job": each.job or None}
            | {"user": each.task.user, "command": each.task.command, "why": each.why}
            for each in result.differences
        ],
        "pairs": [
            {"job": each.job, "minute": rfc3339(each.nominal)}
            | {"cron_late_ms": each.cron_late, "kron_late_ms": each.kron_late}
            for each in sorted(result.both)
        ],
        "notes": list(_notes(log)),
    }
