"""`kron why`: show the outcome of a period and its reason."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now
from kron.apps.cli.store_request import store_url
from kron.apps.wiring import open_store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.why import PeriodReport, why


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
        return await why(store, args.identity, now(args) * 1000)


def _json(report: PeriodReport) -> dict[str, object]:
    run, gap, action, source = report.run, report.gap, report.action, report.revision.job.source
    outcome_record = run or gap
    return {
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
