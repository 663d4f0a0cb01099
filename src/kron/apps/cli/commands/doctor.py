"""`kron doctor`: diagnose database problems and suggest remedies."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict
from typing import Any

from kron.apps.cli.console import Screen
from kron.apps.wiring import durable, open_store
from kron.engine.clock import SystemClock
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Examine a store. Return 1 if a finding is an error."""
    findings = asyncio.run(_examine(durable(args.store)))
    if args.output == "json":
        screen.json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            screen.line(
                f"{screen.paint(screen.out, _COLOURS[finding.level], finding.level.ljust(8))} "
                f"{finding.check}: {finding.message}"
            )
            if finding.hint:
                screen.line(f"         hint: {finding.hint}")
    return int(any(finding.level == "error" for finding in findings))


async def _examine(url: str) -> list[Any]:
    from kron.stores.postgres.doctor import examine

    set_tenant_scope(ALL_TENANTS)  # with row-level security, the API role sees no rows without a tenant scope
    async with open_store(url) as store:
        return await examine(url, store, SystemClock())  # type: ignore[arg-type]
