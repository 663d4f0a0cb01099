"""`kron conformance`: run the tests of a specification by id, and show the conformance level reached."""

from __future__ import annotations

import argparse

from kron.apps.cli.conformance import Report
from kron.apps.cli.conformance.fuzzy import report
from kron.apps.cli.console import Screen


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Run all tests. Return 1 if any fails."""
    found = report()
    if args.output == "json":
        screen.json(_json(found))
    else:
        _show(found, screen)
    return int(found.passed < len(found.results))


def _show(found: Report, screen: Screen) -> None:
    rows = [
        (result.check.id, result.check.levels, "pass" if result.passed else "FAIL", result.fault or result.check.says)
        for result in found.results
    ]
    screen.table(("TEST", "LEVEL", "RESULT", found.document), rows)
    screen.line()
    screen.line(f"{found.passed} of {len(found.results)} tests pass; conformance level {found.level or 'none'}")


def _json(found: Report) -> dict[str, object]:
    return {
        "document": found.document,
        "passed": found.passed,
        "total": len(found.results),
        "level": found.level,
        "tests": [
            {
                "id": result.check.id,
                "levels": result.check.levels,
                "says": result.check.says,
                "passed": result.passed,
                "fault": result.fault or None,
            }
            for result in found.results
        ],
    }
