"""`kron import cronjobs --shadow`: compare CronJobs with what a dry run of the operator has recorded."""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kron.apps.cli.console import Screen
from kron.apps.cli.cronjob_sources import list_cronjobs
from kron.apps.cli.inputs import now, usage_error
from kron.apps.operator.shadow.comparison import Comparison, compare
from kron.apps.operator.shadow.cronjob_runs import CronJobRuns, runs_of
from kron.apps.operator.store_kind import check_kind
from kron.apps.wiring import existing, open_store
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import NotFound
from kron.kube.kind import JOB, place_of
from kron.kube.session import ask
from kron.timing.zone import rfc3339

if TYPE_CHECKING:
    from kron.kube.api import Api

SETTLING_SECONDS = 60  # after which both sides have handled a period


def shadow(args: argparse.Namespace, screen: Screen) -> int:
    """Print the comparison. Return 1 if there is a difference, or a CronJob that cannot be compared."""
    if args.file:
        raise usage_error("--shadow excludes -f", "remove -f: the CronJobs are read from the cluster")
    if args.output not in ("text", "json"):
        raise usage_error("--shadow excludes -o FOLDER", "use -o text or -o json")
    url = existing(args.shadow)
    runs = ask(lambda api, default: _runs(api, args, default), args.context)
    if not runs:
        raise NotFound("NOT_FOUND", "no CronJobs found", hint="use -n NAMESPACE or -A")
    results = asyncio.run(_compared(url, args.identity_prefix, runs, now(args) - SETTLING_SECONDS))
    if args.output == "json":
        screen.json([_record(each) for each in results])
    else:
        _print(results, screen)
    return int(any(each.error or each.differences for each in results))


async def _runs(api: Api, args: argparse.Namespace, default: str) -> dict[str, CronJobRuns]:
    """Return the runs of the CronJobs that the command line selects, by namespace and name."""
    cronjobs = await list_cronjobs(api, args, default)
    jobs = defaultdict(list)
    for namespace in {place_of(each).namespace for each in cronjobs}:
        async for page in api.pages(JOB, namespace):
            for job in page.items:
                for owner in job["metadata"].get("ownerReferences") or ():
                    jobs[owner.get("uid")].append(job)
    return {"/".join(place_of(each)): runs_of(each, jobs[each["metadata"].get("uid")]) for each in cronjobs}


async def _compared(url: str, prefix: str, runs: dict[str, CronJobRuns], last: int) -> list[Comparison]:
    set_tenant_scope(ALL_TENANTS)
    async with open_store(url) as store:
        await check_kind(store, url, prefix, dry_run=True)
        return [await compare(store, f"{prefix}{name}", found, last) for name, found in sorted(runs.items())]


def _print(results: Sequence[Comparison], screen: Screen) -> None:
    rows = [(each.name, _from(each), str(len(each.both)), *_counts(each), _late(each)) for each in results]
    screen.table(("CRONJOB", "COMPARED FROM", "BOTH", "ONLY CRONJOB", "ONLY KRONJOB", "LATE CRONJOB/KRONJOB"), rows)
    for each in results:
        if each.error:
            screen.note(f"{each.name}: {each.error}")
        elif each.first > each.last:
            screen.note(f"{each.name}: nothing to compare yet: a period is compared {SETTLING_SECONDS} s later")
    differences = [(rfc3339(d.period), each.name, d.only, d.why) for each in results for d in each.differences]
    if differences:
        screen.line()
        screen.table(("PERIOD", "CRONJOB", "ONLY", "WHY"), differences)


def _from(result: Comparison) -> str:
    return "-" if result.error else rfc3339(result.first)


def _counts(result: Comparison) -> tuple[str, str]:
    only_cronjob = sum(each.only == "CronJob" for each in result.differences)
    return str(only_cronjob), str(len(result.differences) - only_cronjob)


def _late(result: Comparison) -> str:
    """Return the greatest lateness of both sides. The times of the cluster have whole seconds."""
    if not result.both:
        return "-"
    cronjob = max((late for late, _ in result.both.values() if late is not None), default=None)
    kronjob = max(late for _, late in result.both.values())
    return f"{'-' if cronjob is None else f'{cronjob / 1000:.0f} s'} / {kronjob / 1000:.1f} s"


def _record(result: Comparison) -> dict[str, Any]:
    if result.error:
        return {"cronjob": result.name, "error": result.error}
    return {
        "cronjob": result.name,
        "from": rfc3339(result.first),
        "to": rfc3339(result.last),
        "both": [
            {"period": rfc3339(period), "cronjob_late_ms": late, "kronjob_late_ms": kronjob_late}
            for period, (late, kronjob_late) in result.both.items()
        ],
        "differences": [{"period": rfc3339(d.period), "only": d.only, "why": d.why} for d in result.differences],
    }
