"""Target of the seeded store: it takes its time, and fails in the ways that pages must show."""

from __future__ import annotations

import asyncio

from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.run import Run
from kron.testing import VirtualClock, VirtualLoop
from kron.timing.zone import instant_of

BILLING_DOWN = instant_of("2026-10-22T00:30:00Z"), instant_of("2026-10-22T02:00:00Z")
SECONDS = {  # how long a run usually takes
    "billing.invoices": 95,
    "cache.warm": 20,
    "crm.import-legacy": 240,
    "crm.sync-contacts": 36,
    "db.backup": 900,
    "ml.embeddings": 95,
    "ml.features": 165,
    "orders.export-eu": 93,
    "orders.sync": 41,
    "reports.board": 310,
    "search.suggestions": 100,
    "sla.probe": 0.8,
}
SILENT = ("search.suggestions", instant_of("2026-10-22T00:00:00Z"))  # no report ever arrives
UNKNOWN = ("orders.export-eu", instant_of("2026-10-21T18:15:00Z"))  # the connection breaks after the request


class SeededTarget:
    """Launcher and target in one."""

    def __init__(self, loop: VirtualLoop, clock: VirtualClock, registrar: Registrar) -> None:
        self.loop, self.clock, self.registrar = loop, clock, registrar

    async def start(self, launch: Launch) -> LaunchResponse:
        run, now = launch.run, self.clock.now()
        if "billing.acme" in launch.job.target and BILLING_DOWN[0] <= now < BILLING_DOWN[1]:
            return LaunchResponse(
                LaunchResult.RETRYABLE, code=503, excerpt="upstream connect error: no healthy upstream"
            )
        if run.identity == "crm.sync-contacts" and run.attempt == 1 and int(run.key[0], 16) == 0:
            return LaunchResponse(LaunchResult.RETRYABLE, 3_000, code=429, excerpt="slow down")
        if (run.identity, run.nominal) == UNKNOWN:
            return LaunchResponse(LaunchResult.UNKNOWN, excerpt="connection reset after the request was sent")
        self.loop.create_task(self._execute(run))
        return LaunchResponse(LaunchResult.OK)

    async def cancel(self, run: Run) -> None:
        return None

    async def _execute(self, run: Run) -> None:
        if (run.identity, run.nominal) == SILENT:
            return
        await asyncio.sleep(seconds_of(run))
        error = error_of(run)
        await self.registrar.report(run.key, Report.FAILED if error else Report.SUCCESS, run.attempt, error=error)


def seconds_of(run: Run) -> float:
    """Return how long a run takes: within a fifth of the usual time, by its key; some take much longer."""
    usual, draw = SECONDS.get(run.identity, 12), int(run.key[:4], 16)
    if run.identity == "cache.warm" and draw % 11 == 0:
        return 150  # the next period comes before it ends
    if run.identity == "crm.import-legacy" and draw % 4 == 0:
        return 3_000  # beyond its time limit
    return round(usual * (0.8 + draw / 65_536 * 0.4), 1)


def error_of(run: Run) -> str:
    """Return why a run fails; empty if it succeeds."""
    draw = int(run.key[4:8], 16)
    if run.identity == "crm.score-leads" and draw % 3 == 0:
        return "ValueError: lead 8812 has no country"
    if run.identity == "search.reindex" and draw % 5 == 0:
        return "index suggestions-v7 is read-only"
    if run.identity == "web.sitemap" and draw % 6 == 0:
        return "exit status 1: sitemap.xml is larger than 50 MB"
    return ""
