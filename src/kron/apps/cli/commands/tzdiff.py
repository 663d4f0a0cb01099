"""`kron tzdiff`: compare two tz databases, and the runs of krontab files in them."""

from __future__ import annotations

import argparse
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import load, now
from kron.apps.plural import plural
from kron.errors import NotFound
from kron.timing.job import Job
from kron.timing.run_changes import Change, RunChange, run_changes
from kron.timing.tzdata import TzDatabase, folder_database, installed_database, system_databases
from kron.timing.zone import instant, moment, rfc3339, zone_in
from kron.timing.zone_changes import ZoneChange, zone_changes

_PACKAGE = "tzdata/zoneinfo/"  # folder of the zone files in a wheel
_SHOWN_RUNS = 3  # runs of a schedule in the text output


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two tz databases in an interval (seconds), and the names that only one of them has."""

    old: TzDatabase
    new: TzDatabase
    start: int
    end: int
    names: frozenset[str]
    zones: list[ZoneChange]

    @property
    def removed(self) -> list[str]:
        """Names that only the old database has."""
        return sorted(self.old.names() - self.names)

    @property
    def added(self) -> list[str]:
        """Names that only the new database has."""
        return sorted(self.new.names() - self.names)

    def runs(self, job: Job) -> list[RunChange]:
        """Return the runs of a job that differ. A zone that one database lacks has no runs there to compare."""
        name = job.schedule.zone.name
        if not any(name == change.name or name in change.links for change in self.zones):
            return []
        zones = zone_in(self.old, name), zone_in(self.new, name)
        return run_changes(job.schedule, job.identity, zones, self.start, self.end)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print what differs. Return 0 if no zone differs, 2 if one does, 1 if a file is invalid."""
    tables = [load(path) for path in args.paths]
    errors = [error for table in tables for error in table.errors]
    for error in errors:
        screen.error(error)
    if errors:
        return 1
    start = now(args)
    try:
        comparison = _compare(_database(args.old), _database(args.new), start, _years_after(start, args.years))
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _not_found(f"a wheel file is damaged: {error}") from None
    jobs = [job for table in tables for job in table.jobs]
    job_changes = [(job, comparison.runs(job)) for job in jobs]
    removed, added = comparison.removed, comparison.added
    if args.output == "json":
        screen.json(_json(comparison, removed, added, job_changes))
    else:
        _write_zones(comparison, removed, added, screen)
        if args.paths:
            _write_jobs(job_changes, removed, screen)
    return 2 if comparison.zones or removed or added else 0


def _database(source: str) -> TzDatabase:
    """Return the tz database that the command line names.

    Raises:
        NotFound: There is none.
    """
    if source == "system":
        database = next(iter(system_databases()), None)
    elif source == "wheel":
        database = installed_database()
    elif zipfile.is_zipfile(source):
        database = folder_database(zipfile.Path(source, _PACKAGE))
    else:
        root = Path(source)
        database = folder_database(root / _PACKAGE if (root / _PACKAGE).is_dir() else root)
    if database is None or not database.root.is_dir() or not database.names():
        raise _not_found(f"{source}: no tz database found")
    return database


def _compare(old: TzDatabase, new: TzDatabase, start: int, end: int) -> Comparison:
    names = old.names() & new.names()
    return Comparison(old, new, start, end, names, zone_changes(old, new, sorted(names), start, end))


def _years_after(start: int, years: int) -> int:
    """Return the instant with the same date and time, years later; February 29 becomes February 28."""
    time = moment(start)
    day = min(time.day, 28) if time.month == 2 else time.day
    return instant(time.replace(year=min(time.year + years, 9999), day=day))


def _not_found(message: str) -> NotFound:
    hint = "give a folder with zone files, a wheel of tzdata, system or wheel"
    return NotFound("NOT_FOUND", message, hint=hint)


def _write_zones(comparison: Comparison, removed: list[str], added: list[str], screen: Screen) -> None:
    changed_count = sum(1 + len(change.links) for change in comparison.zones)
    versions = f"{_version(comparison.old)} -> {_version(comparison.new)}"
    screen.line(
        f"tz database {versions}, {rfc3339(comparison.start)} to {rfc3339(comparison.end)}: "
        f"{changed_count} of {plural(len(comparison.names), 'name')} differ"
    )
    if comparison.zones:
        rows = [_row(change) for change in comparison.zones]
        screen.table(("ZONE", "DIFFERS FROM", "OLD", "NEW", "LINKS"), rows)
    for names, side in ((removed, "OLD"), (added, "NEW")):
        if names:
            screen.line(f"only in {side}: {', '.join(names)}")


def _row(change: ZoneChange) -> tuple[str, ...]:
    offsets = _offset(change.first.old_offset), _offset(change.first.new_offset)
    return change.name, rfc3339(change.first.start), *offsets, ", ".join(change.links)


def _write_jobs(job_changes: list[tuple[Job, list[RunChange]]], removed: list[str], screen: Screen) -> None:
    screen.line()
    for job, changes in job_changes:
        zone_name = job.schedule.zone.name
        if zone_name in removed:
            screen.line(f"{job.name} ({zone_name}): NEW lacks the zone")
        if changes:
            counts = Counter(change.kind for change in changes)
            texts = [f"{plural(counts[kind], 'run')} {kind}" for kind in Change if counts[kind]]
            screen.line(f"{job.name} ({zone_name}): {', '.join(texts)}")
            for change in changes[:_SHOWN_RUNS]:
                screen.line(f"  {change.kind.ljust(5)}  {' -> '.join(rfc3339(t) for t in change if t is not None)}")
            if changes[_SHOWN_RUNS:]:
                screen.line(f"  and {len(changes) - _SHOWN_RUNS:,} more")
    affected_count = sum(bool(changes) or job.schedule.zone.name in removed for job, changes in job_changes)
    screen.line(f"{affected_count} of {plural(len(job_changes), 'schedule')} affected")


def _json(
    comparison: Comparison, removed: list[str], added: list[str], job_changes: list[tuple[Job, list[RunChange]]]
) -> dict[str, Any]:
    return {
        "old": _version(comparison.old),
        "new": _version(comparison.new),
        "from": rfc3339(comparison.start),
        "to": rfc3339(comparison.end),
        "names": len(comparison.names),
        "zones": [
            {
                "name": zone.name,
                "links": list(zone.links),
                "differs_from": rfc3339(zone.first.start),
                "old_offset": zone.first.old_offset,
                "new_offset": zone.first.new_offset,
            }
            for zone in comparison.zones
        ],
        "removed": removed,
        "added": added,
        "schedules": [_job_json(job, changes, removed) for job, changes in job_changes],
    }


def _job_json(job: Job, changes: list[RunChange], removed: list[str]) -> dict[str, Any]:
    counts = Counter(change.kind for change in changes)
    runs = [
        {
            "change": str(change.kind),
            "old": None if change.before is None else rfc3339(change.before),
            "new": None if change.after is None else rfc3339(change.after),
        }
        for change in changes
    ]
    zone_name = job.schedule.zone.name
    head = {"identity": job.identity, "timezone": zone_name, "removed": zone_name in removed}
    return {**head, "counts": {str(kind): counts[kind] for kind in Change}, "runs": runs}


def _version(database: TzDatabase) -> str:
    return database.version or "unknown"


def _offset(seconds: int) -> str:
    sign, size = ("-" if seconds < 0 else "+"), abs(seconds)
    return f"{sign}{size // 3600:02d}:{size // 60 % 60:02d}"
