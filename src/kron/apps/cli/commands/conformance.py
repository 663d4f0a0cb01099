"""`kron conformance`: run the tests of a specification by id, and show the conformance level reached."""

from __future__ import annotations

import argparse

from kron.apps.cli.conformance import Report
from kron.apps.cli.conformance.fuzzy import report
from kron.apps.cli.console import Screen


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Run all tests. Return 1 if any fails."""
    summary = report()
    if args.output == "json":
        screen.json(_json(summary))
    else:
        _show(summary, screen)
    return int(summary.passed < len(summary.results))


def _show(summary: Report, screen: Screen) -> None:
    rows = [
        (result.check.id, result.check.levels, "pass" if result.passed else "FAIL", result.fault or result.check.says)
        for result in summary.results
    ]
    screen.table(("TEST", "LEVEL", "RESULT", summary.document), rows)
    screen.line()
    screen.line(f"{summary.passed} of {len(summary.results)} tests pass; conformance level {summary.level or 'none'}")


def _json(summary: Report) -> dict[str, object]:
    return {
        "document": summary.document,
        "passed": summary.passed,
        "total": len(summary.results),
        "level": summary.level,
        "tests": [
            {
                "id": result.check.id,
                "levels": result.check.levels,
                "says": result.check.says,
                "passed": result.passed,
                "fault": result.fault or None,
            }
            for result in summary.results
        ],
    }
