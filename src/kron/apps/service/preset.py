"""Preset `service` with the settings of this process. A stored schedule holds only what its author specified."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kron.apps.service.config import UNLIMITED_LEASE_MS, Config
from kron.stores.presets import Presets
from kron.timing.schedule.policy import MILLISECOND, SERVICE, Catchup, Overlap, Policy

CATCHUPS = {"none": Catchup.NONE, "fire_immediately": Catchup.ALL, "spread": Catchup.SPREAD}


def presets_of(config: Config) -> Presets:
    """Return the presets that the stores of this process apply to schedules."""
    return Presets(service=preset_of(config))


@lru_cache(16)
def preset_of(config: Config) -> Policy:
    """Return the preset `service` with the settings of this process."""
    return replace(
        SERVICE,
        preset="service",
        overlap=Overlap(config.default_overlap_policy),
        catchup=CATCHUPS[config.default_catchup_policy],
        jitter=config.default_jitter_ms * MILLISECOND,
        catchup_limit=config.max_catchup_per_tick,
        spread_over=config.lookahead_ms * MILLISECOND,
        grace=config.misfire_grace_ms * MILLISECOND,
        run_lease=(config.run_lease_ms or UNLIMITED_LEASE_MS) * MILLISECOND,
    )
