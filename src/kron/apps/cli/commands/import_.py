"""`kron import`: write a krontab file from crontabs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.crontab_sources import crontabs, home_of
from kron.apps.cli.inputs import now
from kron.apps.cli.load_text import load_record, peak_text
from kron.apps.declarative.host import system_zone
from kron.apps.plural import plural
from kron.apps.visible import visible_json
from kron.errors import AlreadyExists, InvalidInput
from kron.language.crontabs.convert import Host, convert
from kron.language.crontabs.row import CronJob, Row, Status
from kron.language.crontabs.write import job_line, proposal, schedule_text, window_text, write_krontab
from kron.language.density import Piece, load
from kron.language.reading import zone_of
from kron.timing.zone import DAY, UTC_ZONE, Zone, rfc3339

LOAD_DAYS = 7  # days over which the busiest minute is searched


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Write the krontab. Return 1 if a line cannot be imported; with `--keep-going`, it is a comment."""
    zone = _zone(args)
    rows = convert(crontabs(args, screen), Host(zone, now(args), home_of))
    errors = [row.error for row in rows if row.error]
    for error in errors:
        screen.error(error)
    is_complete = args.keep_going or not errors
    if args.output == "json":
        for row in rows:
            if row.status is not Status.COMMENT:
                screen.out.write(visible_json(json.dumps(_json(row), ensure_ascii=False)) + "\n")
    elif is_complete and not args.write:
        screen.out.write(write_krontab(rows, zone.name))
    if is_complete and args.write:
        _write_file(args.write, write_krontab(rows, zone.name))
    _summarize(rows, screen)
    _show_load(_timed_jobs(rows), now(args) // DAY * DAY, screen, args.output)
    return int(not is_complete)


def _zone(args: argparse.Namespace) -> Zone:
    name = args.timezone if args.timezone is not None else system_zone("add --timezone ZONE, such as Europe/Paris")
    zone = zone_of(name)
    return UTC_ZONE if zone.fixed == 0 else zone


def _write_file(path: str, text: str) -> None:
    """Write a new file. A file that exists is never replaced, because it can be a crontab."""
    try:
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise AlreadyExists("EXISTS", f"{path} already exists", hint="give another file, or remove this one") from None
    except OSError as error:
        raise InvalidInput(
            "BAD_FILE", f"{path} cannot be written: {error.strerror}", hint="give another file"
        ) from None


def _summarize(rows: Sequence[Row], screen: Screen) -> None:
    counts, noted = Counter(row.status for row in rows), sum(bool(row.notes) for row in rows)
    parts = [
        f"{plural(counts[Status.IMPORTED], 'line')} imported",
        f"{plural(noted, 'line')} with notes",
        f"{counts[Status.REBOOT]} @reboot",
        f"{counts[Status.FAILED]} not imported",
    ]
    if counts[Status.NOTED]:
        parts.append(f"{counts[Status.NOTED]} ignored, as cron ignores them")
    screen.note(", ".join(parts))


def _timed_jobs(rows: Sequence[Row]) -> list[CronJob]:
    """Return the jobs that run at times, and not when the host starts."""
    return [row.job for row in rows if row.job and row.status is not Status.REBOOT]


def _show_load(jobs: Sequence[CronJob], start: int, screen: Screen, output: str) -> None:
    """Show the load before and after: its busiest minutes on stderr, and as JSON all of it on stdout, at the end."""
    if not jobs:
        return
    end = start + LOAD_DAYS * DAY
    before = load([Piece(job.schedule, job.name) for job in jobs], start, end)
    after = load([Piece(proposal(job), job.name) for job in jobs], start, end)
    if output == "json":
        record = {"file": None, "line": None, "status": "load", "from": rfc3339(start), "days": LOAD_DAYS}
        loads = {"before": load_record(before), "after": load_record(after)}
        screen.out.write(json.dumps(record | loads) + "\n")
    screen.note(f"busiest minute: {peak_text(before)} as imported, {peak_text(after)} with the proposals")


def _json(row: Row) -> dict[str, Any]:
    result: dict[str, Any] = {"file": row.path, "line": row.number, "text": row.text, "status": str(row.status)}
    if row.job:
        result |= _job_json(row.job)
    if row.error:
        start, end = row.error.span
        fields = {"code": row.error.code, "message": row.error.message, "hint": row.error.hint}
        result["error"] = fields | {"start": start, "end": end}
    return result | {"notes": list(row.notes)}


def _job_json(job: CronJob) -> dict[str, Any]:
    command = job.command
    return {
        "name": job.name,
        "schedule": schedule_text(job.schedule),
        "proposal": schedule_text(proposal(job)),
        "window": window_text(job) or None,
        "command": command.line,
        "user": command.user,
        "cwd": command.cwd,
        "shell": command.shell,
        "mailto": next((target.removeprefix("mail:") for target, _ in command.notify), None),
        "env": dict(command.env),
        "krontab": job_line(job),
    }
