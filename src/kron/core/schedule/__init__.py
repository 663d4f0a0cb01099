"""A Schedule: what a text means, whichever dialect it was written in."""

from __future__ import annotations

from dataclasses import dataclass

from kron.core.policy import KRON, Policy
from kron.core.schedule.chance import EACH_PERIOD, EVEN, Distribution, Seed
from kron.core.schedule.constraint import FREE, Constraints
from kron.core.schedule.cron import Cron
from kron.core.schedule.window import INSTANT, Window
from kron.core.zone import UTC_ZONE, Zone


@dataclass(frozen=True, slots=True)
class Schedule:
    """When, where and how freely. A value: equal texts give equal schedules."""

    cron: Cron
    zone: Zone = UTC_ZONE
    window: Window = INSTANT
    distribution: Distribution = EVEN
    seed: Seed = EACH_PERIOD
    constraints: Constraints = FREE
    policy: Policy = KRON


__all__ = ["Constraints", "Cron", "Distribution", "Policy", "Schedule", "Seed", "Window", "Zone"]
