"""`kron import cronjobs`: write KronJobs from Kubernetes CronJobs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.cronjob_shadow import shadow
from kron.apps.cli.cronjob_sources import find_cronjobs, import_options
from kron.apps.cli.cronjob_switch import switch
from kron.apps.cli.load_text import load_record, peak_text
from kron.apps.operator.cronjob import Conversion, ImportOptions, convert
from kron.apps.operator.yaml_text import to_yaml
from kron.apps.plural import plural
from kron.apps.visible import visible, visible_json
from kron.errors import AlreadyExists, InvalidInput, NotFound
from kron.language.density import Piece, load
from kron.language.finding import Finding
from kron.timing.zone import DAY, rfc3339

LOAD_DAYS = 7  # days over which the busiest minute is searched


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Write the KronJobs. Return 1 if a CronJob cannot be imported; with `--keep-going`, it is left out."""
    if args.switch or args.switch_back:
        return switch(args, screen)
    if args.shadow:
        return shadow(args, screen)
    options = import_options(args)
    found = find_cronjobs(args)
    if not found.cronjobs:
        raise NotFound("NOT_FOUND", "no CronJobs found", hint="use -n NAMESPACE, -A, or -f FILE")
    conversions = list(convert(found.cronjobs, options))
    failed = [each for each in conversions if each.error]
    for each in failed:
        screen.note(f"CronJob {'/'.join(each.place)}:")
        if each.error:
            screen.error(each.error)
    is_complete = args.keep_going or not failed
    if args.output == "json":
        for each in conversions:
            screen.out.write(visible_json(json.dumps(_record(each), ensure_ascii=False)) + "\n")
    elif is_complete and args.output == "text":
        screen.out.write("---\n".join(_document(each) for each in conversions if not each.error))
    elif is_complete:
        _write_files(Path(args.output), conversions)
    _summarize(conversions, found.others, screen)
    _show_load(conversions, options, args.output, screen)
    return int(not is_complete)


def _document(conversion: Conversion) -> str:
    """Return the YAML of a KronJob, with the CronJob's schedule, the notes and the findings as comments."""
    lines = "".join(f"# {visible(line)}\n" for line in _comments(conversion))
    return lines + to_yaml(conversion.kronjob or {})


def _comments(conversion: Conversion) -> Iterator[str]:
    spec = conversion.cronjob["spec"]
    zone = f", {spec['timeZone']}" if spec.get("timeZone") else ""
    yield f"CronJob {'/'.join(conversion.place)}: {spec['schedule']}{zone}"
    yield from (f"note: {note}" for note in conversion.notes)
    yield from (f"{each.level}[{each.code}]: {each.message}" for each in conversion.findings)


def _write_files(folder: Path, conversions: Sequence[Conversion]) -> None:
    """Write a file for each KronJob. A file that exists is never replaced; then nothing is written."""
    files = {folder / f"{'.'.join(each.place)}.yaml": _document(each) for each in conversions if not each.error}
    for path in files:
        if path.exists():
            raise AlreadyExists("EXISTS", f"{path} already exists", hint="give another folder, or remove the file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        message = f"{folder} cannot be written: {error.strerror}"
        raise InvalidInput("BAD_FILE", message, hint="give another folder") from None


def _summarize(conversions: Sequence[Conversion], others: int, screen: Screen) -> None:
    failed = sum(1 for each in conversions if each.error)
    parts = [
        f"{plural(len(conversions) - failed, 'CronJob')} imported",
        f"{sum(bool(each.notes) for each in conversions)} with notes",
        f"{sum(bool(each.findings) for each in conversions)} with warnings",
        f"{failed} not imported",
    ]
    screen.note(", ".join([*parts, f"{plural(others, 'other object')} ignored"] if others else parts))


def _show_load(conversions: Sequence[Conversion], options: ImportOptions, output: str, screen: Screen) -> None:
    """Show the load before and after windows: its busiest minutes on stderr, and as JSON all of it on stdout."""
    start = options.now // DAY * DAY
    timed = [each for each in conversions if each.schedule and not each.schedule.policy.suspend]
    pairs = [("/".join(each.place), each.schedule, each.spread) for each in timed]
    before = load([Piece(schedule, name) for name, schedule, _ in pairs if schedule], start, start + LOAD_DAYS * DAY)
    after = load([Piece(schedule, name) for name, _, schedule in pairs if schedule], start, start + LOAD_DAYS * DAY)
    if output == "json":
        record = {"name": None, "status": "load", "from": rfc3339(start), "days": LOAD_DAYS}
        screen.out.write(json.dumps(record | {"before": load_record(before), "after": load_record(after)}) + "\n")
    windows = "the windows" if options.by_windows else "--by windows"
    screen.note(f"busiest minute: {peak_text(before)} as CronJobs, {peak_text(after)} with {windows}")


def _record(conversion: Conversion) -> dict[str, Any]:
    error, spec = conversion.error, conversion.cronjob.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    record = {
        "namespace": conversion.place.namespace,
        "name": conversion.place.name,
        "status": "failed" if error else "imported",
        "schedule": spec.get("schedule"),
        "timeZone": spec.get("timeZone"),
        "kronjob": conversion.kronjob,
        "notes": list(conversion.notes),
        "findings": [_finding_record(each) for each in conversion.findings],
    }
    return record | ({"error": {"code": error.code, "message": error.message, "hint": error.hint}} if error else {})


def _finding_record(finding: Finding) -> dict[str, str]:
    return {"level": finding.level, "code": finding.code, "message": finding.message, "hint": finding.hint}
