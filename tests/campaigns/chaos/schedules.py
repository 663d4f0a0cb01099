"""Schedules of mixed policies, calendars and windows; many are due in every second."""

from dataclasses import replace

from kron import parse
from kron.timing.job import Job
from kron.timing.schedule.policy import (
    DECLARATIVE,
    KRON,
    MILLISECOND,
    MINUTE,
    SECOND,
    SERVICE,
    Catchup,
    FirstPeriod,
    Overlap,
)

_COMMON = {"run_lease": 20 * SECOND, "launch_backoff": 300 * MILLISECOND, "first_period": FirstPeriod.AFTER}
POLICIES = {
    "skip-none": replace(SERVICE, **_COMMON),
    "allow-all": replace(SERVICE, overlap=Overlap.ALLOW, catchup=Catchup.ALL, catchup_limit=50, **_COMMON),
    "queue-all": replace(SERVICE, overlap=Overlap.QUEUE, catchup=Catchup.ALL, catchup_limit=50, **_COMMON),
    "coalesce-latest": replace(DECLARATIVE, resolution=SECOND, **_COMMON),
    "replace-deadline": replace(KRON, overlap=Overlap.REPLACE, deadline=MINUTE, **_COMMON),
    "spread": replace(SERVICE, overlap=Overlap.ALLOW, catchup=Catchup.SPREAD, spread_over=10 * SECOND, **_COMMON),
    "jitter": replace(SERVICE, jitter=5 * SECOND, **_COMMON),
    "command": replace(KRON, deadline=MINUTE, **_COMMON),
}


def policy_of(name):
    """The policy of a schedule, by its name."""
    return POLICIES[name.split("/")[0]]


def names(count):
    """The names of so many schedules."""
    kinds = list(POLICIES)
    return [f"{kinds[n % len(kinds)]}/{n // len(kinds):05d}" for n in range(count)]


def job_of(name, every, edit=0):
    """A schedule with a period in every so many minutes, at a second of its own; some have windows instead."""
    policy, number = policy_of(name), int(name.split("/")[1])
    minutes = "*" if every == 1 else f"{number % every}-59/{every}"
    if number % 4 == 3:
        schedule = parse(f"{minutes} * * * * @win(after,50s) @seed(stable,salt={name[:4]})", dialect="kron")
    else:
        schedule = parse(f"{number % 60} {minutes} * * * *", dialect="service")
    return Job(name, replace(schedule, policy=policy), description=f"edit {edit}", target="post:/")
