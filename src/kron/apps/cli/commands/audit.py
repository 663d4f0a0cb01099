"""`kron audit`: verify that every period of every schedule has an outcome."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.cli.store_request import store_url
from kron.apps.plural import plural
from kron.apps.wiring import open_store
from kron.engine.audit import Audit, audit
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import KronError
from kron.timing.zone import rfc3339

BOUNDED_ENDS = ("failed", "lost", "unknown")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Audit each schedule.

    Returns:
        1 if a period is unexplained or a bound is exceeded, 2 if the store cannot be read, else 0.
    """
    try:
        audits = asyncio.run(_audits(args))
    except KronError as error:
        screen.error(error)
        return 2
    if not audits:
        screen.note("no schedules are visible; nothing was audited")
    if args.output == "json":
        screen.json([_json(result) for result in audits])
    else:
        for result in audits:
            _show(result, screen)
    unsound = sum(not result.sound for result in audits)
    totals = {name: sum(getattr(result, name) for result in audits) for name in BOUNDED_ENDS}
    counts = ", ".join(f"{count} {name}" for name, count in totals.items())
    screen.note(f"{plural(len(audits), 'schedule')}, {unsound} with unexplained periods; runs: {counts}")
    exceeded = [
        name for name in BOUNDED_ENDS if (bound := getattr(args, f"max_{name}")) is not None and totals[name] > bound
    ]
    for name in exceeded:
        screen.note(f"{plural(totals[name], 'run')} ended as {name}; the limit is {getattr(args, f'max_{name}')}")
    return int(unsound > 0 or bool(exceeded))


async def _audits(args: argparse.Namespace) -> list[Audit]:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(store_url(args)) as store:
        return [result async for result in audit(store, [args.identity] if args.identity else None)]


def _show(result: Audit, screen: Screen) -> None:
    counts = dict(result.outcomes)
    for gap in result.gaps:
        name = f"{gap.outcome}: {gap.reason}, in a gap record"
        counts[name] = counts.get(name, 0) + gap.count
    summary = ", ".join(f"{count} {label}" for label, count in sorted(counts.items())) or "no records yet"
    over = f"; {result.over}" if result.over else ""
    screen.line(
        f"{'ok   ' if result.sound else 'WRONG'}  {result.identity}, revision {result.revision}: {summary}{over}"
    )
    for label, nominals in _problems(result).items():
        for nominal in nominals[:10]:
            screen.line(f"       {label}: {rfc3339(nominal)}")


def _problems(result: Audit) -> dict[str, tuple[int, ...]]:
    return {"unexplained": result.unexplained, "recorded twice": result.twice, "key used by another run": result.taken}


def _json(result: Audit) -> dict[str, Any]:
    return {
        "identity": result.identity,
        "revision": result.revision,
        "ok": result.sound,
        "records": result.outcomes,
        "gaps": [
            {"first": rfc3339(gap.first), "last": rfc3339(gap.last), "count": gap.count, "reason": str(gap.reason)}
            for gap in result.gaps
        ],
        "unexplained": [rfc3339(nominal) for nominal in result.unexplained],
        "twice": [rfc3339(nominal) for nominal in result.twice],
        "taken": [rfc3339(nominal) for nominal in result.taken],
        "failed": result.failed,
        "lost": result.lost,
        "unknown": result.unknown,
        "over": result.over or None,
    }
