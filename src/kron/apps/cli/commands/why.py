"""`kron why`: show the outcome of a period and its reason."""

from __future__ import annotations

import argparse
import asyncio
import re

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now
from kron.apps.cli.store_request import store_url
from kron.apps.wiring import open_store
from kron.engine.period_report import PeriodReport
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.why import why
from kron.errors import NotFound

_RUN_KEY = re.compile("[0-9a-f]{64}")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the report of one period."""
    report = asyncio.run(_period_report(args))
    if args.output == "json":
        screen.json(_json(report))
    else:
        for line in report.lines():
            screen.line(line)
    return 0


async def _period_report(args: argparse.Namespace) -> PeriodReport:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(store_url(args)) as store:
        try:
            return await why(store, args.identity, now(args) * 1000, run_key=args.run_key)
        except NotFound as error:
            _add_hint(error, args)
            raise


def _add_hint(error: NotFound, args: argparse.Namespace) -> None:
    """Give the error a hint on the key of a run, if the command line has one."""
    if args.run_key:
        error.hint = f"use a key that `kron runs {args.identity} -o name` prints"
    elif _RUN_KEY.fullmatch(args.identity):
        error.hint = "this is the key of a run: use kron why JOB --run KEY"


def _json(report: PeriodReport) -> dict[str, object]:
    run, gap, action, source = report.run, report.gap, report.action, report.revision.job.source
    outcome_record = run or gap
    return {
        "key": run.key if run else None,
        "trigger": run.trigger or None if run else None,
        "revision": report.revision.number,
        "source": {"text": source.text, "dialect": source.dialect, "timezone": source.zone} if source else None,
        "decision": report.decision,
        "outcome": str(outcome_record.outcome) if outcome_record and outcome_record.outcome else None,
        "reason": str(outcome_record.reason) if outcome_record and outcome_record.reason else None,
        "state": str(run.state) if run else None,
        "attempt": run.attempt if run else None,
        "started": run.started if run else None,
        "finished": run.finished if run else None,
        "attempts": [attempt._asdict() for attempt in report.attempts],
        "gap": {"first": gap.first, "last": gap.last, "count": gap.count} if gap else None,
        "action": {
            "kind": action.kind,
            "at": action.at,
            "until": action.until,
            "actor": action.actor,
            "note": action.note,
        }
        if action
        else None,
        "launchable": report.launchable,
        "explanation": report.summary(),
    }
