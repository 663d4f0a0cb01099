"""`kron why`: what became of a period, and why."""

from __future__ import annotations

import argparse
import asyncio

from kron.apps.cli.screen import Screen
from kron.apps.cli.subject import now
from kron.apps.wiring import existing, open_store
from kron.why import Account, why
from kron.within import EVERYWHERE, keep_within


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Give the account of one period."""
    account = asyncio.run(_account(args))
    if args.format == "json":
        screen.json(_json(account))
    else:
        for line in account.words():
            screen.line(line)
    return 0


async def _account(args: argparse.Namespace) -> Account:
    keep_within(EVERYWHERE)
    async with open_store(existing(args.store)) as store:
        return await why(store, args.identity, now(args) * 1000)


def _json(account: Account) -> dict[str, object]:
    run, gap, act = account.run, account.gap, account.act
    ending = run or gap
    return {
        "revision": account.revision.number,
        "decision": account.decision,
        "outcome": str(ending.verdict) if ending and ending.verdict else None,
        "reason": str(ending.reason) if ending and ending.reason else None,
        "state": str(run.state) if run else None,
        "attempt": run.attempt if run else None,
        "gap": {"first": gap.first, "last": gap.last, "count": gap.count} if gap else None,
        "act": {"deed": act.deed, "at": act.at, "until": act.until, "who": act.who, "note": act.note} if act else None,
        "launchable": account.launchable,
        "words": account.ending(),
    }
