"""Schedule: the meaning of a schedule text, independent of its dialect."""

from __future__ import annotations

from dataclasses import dataclass

from kron.timing.schedule.constraint import UNCONSTRAINED, Constraints
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.head import Every, Moments
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.schedule.sampling import STABLE_SEED, UNIFORM, Distribution, Seed
from kron.timing.schedule.terms import PLAIN, Terms
from kron.timing.schedule.window import INSTANT, Window
from kron.timing.zone import UTC_ZONE, Zone

Head = Cron | Moments | Every


@dataclass(frozen=True, slots=True)
class Schedule:
    """Definition of when a target runs. A value: equal texts give equal schedules.

    Attributes:
        cron: The cron fields, or listed moments, or an interval of elapsed time.
        zone: Time zone of the cron fields and the constraints.
        window: Interval around the nominal time in which the run is placed.
        distribution: Distribution of the chosen time over the window.
        seed: How the seed of a decision is computed.
        constraints: `@only` and `@avoid` rules for the chosen time.
        policy: What happens to late, overlapping, failed and missed runs.
        terms: Rule for clock changes, and validity. Only cron fields can have plain terms.
    """

    cron: Head
    zone: Zone = UTC_ZONE
    window: Window = INSTANT
    distribution: Distribution = UNIFORM
    seed: Seed = STABLE_SEED
    constraints: Constraints = UNCONSTRAINED
    policy: Policy = KRON
    terms: Terms = PLAIN


__all__ = ["Constraints", "Cron", "Distribution", "Head", "Policy", "Schedule", "Seed", "Window", "Zone"]
