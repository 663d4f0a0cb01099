"""`kron why`: show the outcome of a period and its reason."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.console import Screen
from kron.apps.cli.inputs import now
from kron.apps.wiring import existing, open_store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.engine.why import PeriodReport, why


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Print the report of one period."""
    account = asyncio.run(_account(args))
    if args.output == "json":
        screen.json(_json(account))
    else:
        for line in account.lines():
            screen.line(line)
    return 0


async def _account(args: argparse.Namespace) -> PeriodReport:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(existing(args.store)) as store:
        return await why(store, args.identity, now(args) * 1000)


def _json(account: PeriodReport) -> dict[str, object]:
    run, gap, act, source = account.run, account.gap, account.action, account.revision.job.source
    ending = run or gap
    return {
        "revision": account.revision.number,
        "source": {"text": source.text, "dialect": source.dialect, "timezone": source.zone} if source else None,
        "decision": account.decision,
        "outcome": str(ending.outcome) if ending and ending.outcome else None,
        "reason": str(ending.reason) if ending and ending.reason else None,
        "state": str(run.state) if run else None,
        "attempt": run.attempt if run else None,
        "gap": {"first": gap.first, "last": gap.last, "count": gap.count} if gap else None,
        "action": {"kind": act.kind, "at": act.at, "until": act.until, "actor": act.actor, "note": act.note}
        if act
        else None,
        "launchable": account.launchable,
        "explanation": account.summary(),
    }
