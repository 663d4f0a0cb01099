"""`kron lint`: check a schedule or a file for errors and likely mistakes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import load, now, read_argument
from kron.errors import LanguageError, Place
from kron.language.agreement import ANY_IDENTITY
from kron.language.boot_form import is_boot
from kron.language.finding import Finding
from kron.language.findings import findings_of


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print all findings. Return 1 if an error is among them or, with `--strict`, a warning."""
    findings = _file_findings(args) if args.file else _text_findings(args)
    if args.output == "json":
        screen.json([_json(finding) for finding in findings])
    else:
        for f in findings:
            screen.finding(f.level, f.code, f.message, f.place, f.hint)
    levels = [finding.level for finding in findings]
    counts = [f"{levels.count(level)} {level}{'s' * (levels.count(level) != 1)}" for level in LEVELS]
    screen.note(", ".join(counts))
    return 1 if "error" in levels or (args.strict and "warning" in levels) else 0


LEVELS = ("error", "warning", "note")


def _text_findings(args: argparse.Namespace) -> list[Finding]:
    try:
        reading = read_argument(args, args.identity or ANY_IDENTITY)
    except LanguageError as error:
        return [_finding(error)]
    return _with_impossible_as_errors(findings_of(reading.text, reading.schedule, reading.dialect, now(args)))


def _file_findings(args: argparse.Namespace) -> list[Finding]:
    table = load(args.file)
    findings = [_finding(error) for error in table.errors]
    for line in table.lines:
        if args.name in (None, line.job.name) and not is_boot(line.job.schedule):
            for finding in findings_of(line.schedule, line.job.schedule, line.dialect, now(args)):
                place = finding.place._replace(source=args.file, line=line.number)
                findings.append(replace(finding, place=place))
    return sorted(findings, key=lambda finding: finding.place.line)


def _with_impossible_as_errors(findings: list[Finding]) -> list[Finding]:
    return [replace(f, level="error") if f.never_runs else f for f in findings]


def _finding(error: LanguageError) -> Finding:
    return Finding("error", error.code, error.message, error.place, error.hint)


def _json(finding: Finding) -> dict[str, Any]:
    place: Place = finding.place
    return {
        "level": finding.level,
        "code": finding.code,
        "message": finding.message,
        "hint": finding.hint,
        "file": place.source or None,
        "line": place.line or None,
        "text": place.text,
        "start": place.start,
        "end": place.end,
    }
