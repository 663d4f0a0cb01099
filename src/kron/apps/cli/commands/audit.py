"""`kron audit`: verify that every period of every schedule has an outcome."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from kron.apps.cli.console import Screen, plural
from kron.apps.wiring import existing, open_store
from kron.engine.audit import Audit, audit
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import KronError
from kron.rules.outcome import GapRecord
from kron.timing.zone import rfc3339

BOUNDS = ("failed", "lost", "unknown")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Audit each schedule.

    Returns:
        1 if a period is unexplained or a bound is exceeded, 2 if the store cannot be read, else 0.
    """
    try:
        found = asyncio.run(_audits(args))
    except KronError as error:
        screen.error(error)
        return 2
    if not found:
        screen.note("no schedules are visible; nothing was audited")
    if args.output == "json":
        screen.json([_json(one) for one in found])
    else:
        for one in found:
            _show(one, screen)
    unsound = sum(not one.sound for one in found)
    ends = {name: sum(getattr(one, name) for one in found) for name in BOUNDS}
    counts = ", ".join(f"{count} {name}" for name, count in ends.items())
    screen.note(f"{plural(len(found), 'schedule')}, {unsound} with unexplained periods; runs: {counts}")
    over = [name for name in BOUNDS if (bound := getattr(args, f"max_{name}")) is not None and ends[name] > bound]
    for name in over:
        screen.note(f"{plural(ends[name], 'run')} ended as {name}; the limit is {getattr(args, f'max_{name}')}")
    return int(unsound > 0 or bool(over))


async def _audits(args: argparse.Namespace) -> list[Audit]:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(existing(args.store)) as store:
        return [one async for one in audit(store, [args.identity] if args.identity else None)]


def _show(one: Audit, screen: Screen) -> None:
    counts = dict(one.outcomes)
    for gap in one.gaps:
        name = f"{gap.outcome}: {gap.reason}, in a gap record"
        counts[name] = counts.get(name, 0) + gap.count
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "no records yet"
    screen.line(f"{'ok   ' if one.sound else 'WRONG'}  {one.identity}, revision {one.revision}: {told}")
    for what, nominals in _wrong(one).items():
        for nominal in nominals[:10]:
            screen.line(f"       {what}: {rfc3339(nominal)}")


def _wrong(one: Audit) -> dict[str, tuple[int, ...]]:
    return {"unexplained": one.unexplained, "recorded twice": one.twice, "key used by another run": one.taken}


def _json(one: Audit) -> dict[str, Any]:
    return {
        "identity": one.identity,
        "revision": one.revision,
        "ok": one.sound,
        "records": one.outcomes,
        "gaps": [
            {"first": rfc3339(g.first), "last": rfc3339(g.last), "count": g.count, "reason": str(g.reason)}
            for g in one.gaps
        ],
        "unexplained": [rfc3339(nominal) for nominal in one.unexplained],
        "twice": [rfc3339(nominal) for nominal in one.twice],
        "taken": [rfc3339(nominal) for nominal in one.taken],
        "failed": one.failed,
        "lost": one.lost,
        "unknown": one.unknown,
    }


def _gap(gap: GapRecord) -> dict[str, Any]:
    return {
        "first": rfc3339(gap.first),
        "last": rfc3339(gap.last),
        "count": gap.count,
        "outcome": str(gap.outcome),
        "reason": str(gap.reason),
    }
