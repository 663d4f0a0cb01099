"""Settings of the operator's worker: alone with its store, or one of several."""

from __future__ import annotations

from dataclasses import replace

from kron.apps.operator.adopt import SETTLE_MS
from kron.engine.settings import Settings

CONCURRENT_LAUNCHES = 20  # requests: more of them only wait for each other in one API server
SHARED_LEASE_MS = 40_000  # of a claim, with several operators: longer than `settle_ms`, so that claims are released


def worker_settings(*, is_alone: bool) -> Settings:
    """Return the settings of a worker. `is_alone` tells that no other operator uses its store."""
    settings = Settings(
        max_concurrent_launches=CONCURRENT_LAUNCHES,
        max_slow_launches=0,  # one API server serves all KronJobs: none is slower than the others
        breaker_failures=0,  # all Jobs have one target, and a quota is that of one namespace
    )
    return replace(settings, shard_lease=0) if is_alone else replace(settings, lease=SHARED_LEASE_MS)


def settle_ms(settings: Settings, *, is_alone: bool) -> int:
    """Return the milliseconds after a claim in which its Job can still be created by the worker that made the claim.

    Another operator may live: it sends a run until half of its claim is over, and then waits for the answer.
    """
    return SETTLE_MS if is_alone else settings.lease // 2 + settings.timeout + 1_000
