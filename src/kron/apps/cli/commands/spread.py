"""`kron spread`: chart the load per minute, current and as sentences or windows would spread it."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

from kron.apps.cli.commands.compile import WORKFLOW_SUFFIXES, files
from kron.apps.cli.console import Screen
from kron.apps.cli.crontab_sources import has_user_column
from kron.apps.cli.inputs import now, read_schedule_text, read_text
from kron.apps.cli.load_text import load_record, peak_text
from kron.apps.cli.repository import identifier
from kron.apps.plural import plural
from kron.errors import KronError, LanguageError, NotFound
from kron.language.boot_form import is_boot
from kron.language.crontabs.read import Crontab, read_crontab
from kron.language.density import Load, Piece, load, spread
from kron.language.krontab import read_table
from kron.language.service import baseline
from kron.language.workflows.compile import Compiled, compile_workflow
from kron.timing.schedule import Schedule
from kron.timing.zone import DAY, UTC_ZONE, rfc3339

_KRONTAB = re.compile(r"^[^#\n]*\sname=\S", re.MULTILINE)
_OWNER = "owner"  # user of a crontab that has no user column; it has no effect on the load
_BARS = " ▏▎▍▌▋▊▉█"


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Draw both loads. Return 1 if a file is invalid."""
    pieces, errors = list[Piece](), list[LanguageError]()
    for path in files(args.paths):
        file_pieces, file_errors = _pieces(path, args)
        pieces += file_pieces
        errors += file_errors
    for error in errors:
        screen.error(error)
    if errors:
        return 1
    if not pieces:
        raise NotFound("NOT_FOUND", "no schedules found", hint="use a crontab, a krontab or workflow files")
    start = now(args) // DAY * DAY
    end = start + args.days * DAY
    spread_pieces = [spread(piece, args.by) for piece in pieces]
    moved = sum(before != after for before, after in zip(pieces, spread_pieces, strict=True))
    before, after = load(pieces, start, end), load(spread_pieces, start, end)
    if args.output == "json":
        screen.json(
            {"from": rfc3339(start), "days": args.days, "schedules": len(pieces), "spread": moved}
            | {"by": args.by, "before": load_record(before), "after": load_record(after)}
        )
    else:
        _draw(before, after, args.by, screen)
        screen.line()
        screen.line(
            f"{plural(len(pieces), 'schedule')}, {moved} of them spread; {args.days} days from {rfc3339(start)}"
        )
        screen.line(f"busiest minute: {peak_text(before)} currently, {peak_text(after)} by {args.by}")
    return 0


def _pieces(path: Path, args: argparse.Namespace) -> tuple[list[Piece], list[LanguageError]]:
    """Return the schedules of a file of any kind.

    A file that is not YAML, Markdown or krontab is read as a crontab or, with `--dialect`, as one schedule per line.
    """
    text, name = read_text(str(path)), str(path)
    if path.suffix.lower() in WORKFLOW_SUFFIXES:
        workflow = compile_workflow(text, name, _identity(path))
        return [_committed_piece(schedule) for schedule in workflow.schedules], list(workflow.errors)
    if _KRONTAB.search(text):
        table = read_table(text, str(path.absolute()))
        jobs = [job for job in table.jobs if not is_boot(job.schedule)]
        return [Piece(job.schedule, job.identity) for job in jobs], list(table.errors)
    if args.dialect:
        return _read_lines(text, name, args)
    return _read_crontab(Crontab(text, name, None if has_user_column(path) else _OWNER))


def _read_crontab(crontab: Crontab) -> tuple[list[Piece], list[LanguageError]]:
    """Return the schedules of a crontab, and an error for each invalid line.

    cron accepts a line that never runs. It adds nothing to the load. A last line without a line feed counts.
    """
    lines = list(read_crontab(replace(crontab, text=f"{crontab.text}\n"), UTC_ZONE))
    pieces = [
        Piece(line.entry.timing.schedule, f"{crontab.path}:{line.row.number}:{line.entry.entry.command}")
        for line in lines
        if line.entry and not is_boot(line.entry.timing.schedule)
    ]
    return pieces, [line.row.error for line in lines if line.row.error and not line.never_runs]


def _read_lines(text: str, path: str, args: argparse.Namespace) -> tuple[list[Piece], list[LanguageError]]:
    """Return the schedules of a file with one schedule text per line, and an error for each invalid line."""
    pieces, errors = list[Piece](), list[LanguageError]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        identity = f"{path}:{number}"
        try:
            pieces.append(Piece(read_schedule_text(line.strip(), args.dialect, now(args), identity).schedule, identity))
        except LanguageError as error:
            error.place = error.place._replace(source=path, line=number)
            errors.append(error)
    return pieces, errors


def _identity(path: Path) -> str:
    """Return the identifier that `kron compile` uses, or else the path, which is enough because nothing is written."""
    try:
        return identifier(path, None)
    except KronError:
        return str(path)


def _committed_piece(compiled: Compiled) -> Piece:
    """Return the committed cron line of a workflow file, or the compiled one if the file has none yet."""
    cron = baseline(compiled.written.cron) if compiled.written.cron else compiled.schedule
    return Piece(Schedule(cron), compiled.identifier, compiled.sentence)


def _draw(before: Load, after: Load, by: str, screen: Screen) -> None:
    """Draw a row per hour with the runs of its busiest minute; both bars have the same scale."""
    left, right = before.by_hour(), after.by_hour()
    digits = len(str(max(*left, *right)))
    width = max(8, (screen.width - 8 - 2 * (digits + 3)) // 2)
    scale = max(*left, *right)
    screen.line(f"{'UTC':7}{'currently'.ljust(width + digits + 3)}{'by ' + by}")
    for hour in range(24):
        bars = "   ".join(f"{count:{digits}} {_bar(count, scale, width)}" for count in (left[hour], right[hour]))
        screen.line(f"{hour:02d}:00  {bars}".rstrip())


def _bar(count: int, scale: int, width: int) -> str:
    eighths = -(-count * width * 8 // scale)  # rounded up, so that a single run is visible
    full, part = divmod(eighths, 8)
    return ("█" * full + _BARS[part].strip()).ljust(width)
