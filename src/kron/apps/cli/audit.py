"""`kron audit`: whether every period of every schedule has an answer."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from kron.apps.cli.screen import Screen
from kron.apps.wiring import open_store
from kron.audit import Audit, audit
from kron.core.outcome import Gap
from kron.core.zone import rfc3339
from kron.within import EVERYWHERE, keep_within


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Account for each schedule. 1 if any period is unexplained."""
    found = asyncio.run(_audits(args))
    if args.format == "json":
        screen.json([_json(one) for one in found])
    else:
        for one in found:
            _show(one, screen)
    unsound = sum(not one.sound for one in found)
    screen.note(f"{len(found)} schedules, {unsound} with periods that nobody can explain")
    return int(unsound > 0)


async def _audits(args: argparse.Namespace) -> list[Audit]:
    keep_within(EVERYWHERE)
    async with open_store(args.store) as store:
        return [one async for one in audit(store, [args.identity] if args.identity else None)]


def _show(one: Audit, screen: Screen) -> None:
    counts = dict(one.verdicts)
    for gap in one.gaps:
        name = f"{gap.verdict}: {gap.reason}, in a gap"
        counts[name] = counts.get(name, 0) + gap.count
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "nothing yet"
    screen.line(f"{'ok   ' if one.sound else 'WRONG'}  {one.identity}, revision {one.revision}: {told}")
    for what, nominals in (("unexplained", one.unexplained), ("recorded twice", one.twice)):
        for nominal in nominals[:10]:
            screen.line(f"       {what}: {rfc3339(nominal)}")


def _json(one: Audit) -> dict[str, Any]:
    return {
        "identity": one.identity,
        "revision": one.revision,
        "ok": one.sound,
        "records": one.verdicts,
        "gaps": [
            {"first": rfc3339(g.first), "last": rfc3339(g.last), "count": g.count, "reason": str(g.reason)}
            for g in one.gaps
        ],
        "unexplained": [rfc3339(nominal) for nominal in one.unexplained],
        "twice": [rfc3339(nominal) for nominal in one.twice],
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "first": rfc3339(gap.first),
        "last": rfc3339(gap.last),
        "count": gap.count,
        "verdict": str(gap.verdict),
        "reason": str(gap.reason),
    }
