"""`kron compile`: compile the sentences of workflow files to cron lines; show, check or write them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kron.apps.cli.commands.fmt import replace_file
from kron.apps.cli.commands.translate import placeholder_rows, show_rows
from kron.apps.cli.console import Screen, colourful
from kron.apps.cli.heatmap import heatmap
from kron.apps.cli.inputs import now, read_text, usage_error
from kron.apps.cli.repository import identifier
from kron.errors import InvalidInput, InvalidSchedule, LanguageError, report
from kron.language.fault import Fault
from kron.language.finding import Finding
from kron.language.sentences.placeholder import is_placeholder
from kron.language.workflows.compile import Compiled, Status, Workflow, collisions, compile_workflow
from kron.language.workflows.rewrite import rewrite
from kron.timing.period import next_nominal
from kron.timing.schedule import Schedule
from kron.timing.zone import rfc3339

WORKFLOW_SUFFIXES = (".md", ".yml", ".yaml")
SKIPPED_FOLDERS = (".git", "node_modules")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Compile files. Return 1 if a file is invalid or, with `--check`, if a cron line is wrong or missing."""
    if args.check and args.write:
        raise usage_error("--check and --write are mutually exclusive", "use only one of them")
    if any(map(is_placeholder, args.paths)):
        return _show_placeholder(args, screen)
    at, workflows = now(args), [_load(path, args.repo) for path in files(args.paths)]
    errors = [error for workflow in workflows for error in workflow.errors]
    for error in errors:
        screen.error(error)
    if errors:
        return 1
    schedules = [schedule for workflow in workflows for schedule in workflow.schedules]
    shared_findings = collisions(schedules)
    if args.output == "json":
        screen.json([_json(schedule, shared_findings, at) for schedule in schedules])
    else:
        _show(schedules, shared_findings, at, screen)
    if args.write:
        _write(workflows, screen)
    return int(args.check and _differences(schedules, screen) > 0)


def _show_placeholder(args: argparse.Namespace, screen: Screen) -> int:
    if len(args.paths) > 1 or args.check or args.write:
        raise usage_error("a placeholder is compiled alone, into no file", "give it as the only argument")
    text = args.paths[0].strip()
    try:
        rows = placeholder_rows(text, args.identity)
    except Fault as fault:
        raise fault.within(text) from None
    show_rows(rows, args.output, screen)
    return 0


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the selected files, each once: named files, and all possible workflow files in folders."""
    seen: set[Path] = set()
    for file in (file for path in paths for file in _workflow_files(Path(path))):
        if file.absolute() not in seen:
            seen.add(file.absolute())
            yield file


def _workflow_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    candidates = sorted(file for file in path.rglob("*") if file.suffix.lower() in WORKFLOW_SUFFIXES and file.is_file())
    return [file for file in candidates if not set(SKIPPED_FOLDERS) & set(file.parts)]


def _load(path: Path, repository: str | None) -> Workflow:
    text = read_text(str(path))
    try:
        name, refusal = identifier(path, repository), None
    except InvalidInput as error:
        name, refusal = "", error
    try:
        return compile_workflow(text, str(path), name)
    except LanguageError:
        raise
    except InvalidSchedule as error:  # a sentence without an identifier: say why there is none
        raise refusal or error from None


def _show(schedules: list[Compiled], shared_findings: list[Finding], at: int, screen: Screen) -> None:
    if not schedules:
        screen.note("no schedules")
        return
    head = ("FILE", "SENTENCE", "PLACEHOLDER", "CRON", "NEXT RUN (UTC)")
    rows = [(_label(s), s.sentence or "-", s.placeholder or "-", s.cron, _next(s, at) or "never") for s in schedules]
    screen.table(head, rows)
    for f in [*(finding for schedule in schedules for finding in schedule.findings), *shared_findings]:
        screen.block(
            screen.paint_report(screen.err, report(f.code, f.message, f.place, f.hint, level=f.level)), screen.err
        )
    screen.err.write(heatmap([s.cron for s in schedules], colour=colourful(screen.err)))


def _label(schedule: Compiled) -> str:
    return f"{schedule.place.source}:{schedule.place.line}"


def _next(schedule: Compiled, at: int) -> str | None:
    nominal = next_nominal(Schedule(schedule.schedule), at)
    return None if nominal is None else rfc3339(nominal)


def _json(schedule: Compiled, shared_findings: list[Finding], at: int) -> dict[str, Any]:
    findings = [*schedule.findings, *(finding for finding in shared_findings if finding.place == schedule.place)]
    return {
        "file": schedule.place.source,
        "line": schedule.place.line,
        "identifier": schedule.identifier or None,
        "sentence": schedule.sentence or None,
        "placeholder": schedule.placeholder or None,
        "cron": schedule.cron,
        "committed": schedule.written.cron,
        "status": str(schedule.status),
        "seed": schedule.seed,
        "why": schedule.why,
        "next_run": _next(schedule, at),
        "warnings": [{"code": f.code, "message": f.message, "hint": f.hint} for f in findings],
    }


def _write(workflows: list[Workflow], screen: Screen) -> None:
    """Write all files, after all of them have been rewritten in memory without an error."""
    texts = [rewrite(workflow) for workflow in workflows]
    for workflow, text in zip(workflows, texts, strict=True):
        if text != workflow.text:
            replace_file(Path(workflow.source).resolve(), text)  # behind a link, replace the file itself
            screen.note(f"{workflow.source} rewritten")


def _differences(schedules: list[Compiled], screen: Screen) -> int:
    """Report the cron lines that are wrong or missing, and return their number."""
    outdated = [schedule for schedule in schedules if schedule.status in (Status.DIFFERS, Status.MISSING)]
    for schedule in outdated:
        current = f"has {schedule.written.cron}" if schedule.written.cron else "is not compiled"
        screen.note(f"{_label(schedule)} {current}; {schedule.sentence} compiles to {schedule.cron}")
    if outdated:
        screen.note("run kron compile --write to update the files")
    return len(outdated)
