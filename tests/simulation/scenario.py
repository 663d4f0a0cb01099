"""Random schedules: the presets and everything between them, in zones whose clocks are about to change."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from kron.language import parse
from kron.timing.job import Job
from kron.timing.schedule.policy import (
    DECLARATIVE,
    KRON,
    MINUTE,
    SECOND,
    SERVICE,
    Catchup,
    FirstPeriod,
    Overlap,
    Policy,
    Resume,
    WorkerLossPolicy,
)
from tests.simulation.setting import STARTS, Setting

OFTEN = ["* * * * *", "* * * * *", "*/5 * * * *", "*/5 * * * *", "*/15 * * * *"]
CRONS = [*OFTEN, "7 * * * *", "30 1-3 * * *", "0,1,2,30 * * * *"]
WINDOWS = ["", "", "", "@win(after,30s)", "@win(around,40s)", "@win(after,3m)", "@win(around,20m)", "@win(after,1h)"]
LASTS = [1, 1, 5, 5, 30, 90, 400]


def job_of(random: Random, identity: str, setting: Setting) -> Job:
    """A job, drawn anew; where it is sent depends on its identity alone."""
    keyed = int(identity.removeprefix("s")) % 3 != 2
    policy = policy_of(random, keyed)
    home = setting.zone if random.random() < 0.6 else random.choice(sorted(STARTS))
    if policy.jitter:
        schedule = parse(random.choice(CRONS), dialect="service", timezone=home)
    else:
        window = random.choice(WINDOWS) if policy.first_period is not FirstPeriod.CURRENT_MINUTE else ""
        rule = random.choice(["", "", " @avoid(hours=23)", " @only(between=00:00-20:00)"]) if window else ""
        salt = f" @seed(stable,salt=x{random.randrange(9)})" if window else ""
        schedule = parse(f"{random.choice(CRONS)} {window}{salt}{rule}".strip(), dialect="kron", timezone=home)
    start = end = None
    if random.random() < 0.1:
        start = setting.start + random.randrange(int(setting.hours * 3600))
    if random.random() < 0.1:
        end = setting.start + random.randrange(int(setting.hours * 3600))
    target = "keyed:there" if keyed else "command:there"
    lasts = random.choice(LASTS)
    policy = with_limits(random, policy) if setting.limited else policy
    return Job(identity, replace(schedule, policy=policy), description=str(lasts), target=target, start=start, end=end)


def policy_of(random: Random, keyed: bool) -> Policy:
    """A preset, or any value on any axis. What does not know its key is never sent twice."""
    policy = random.choice([KRON, SERVICE, DECLARATIVE, None, None]) or _mixed(random)
    if policy.on_worker_loss is not WorkerLossPolicy.LOST and not keyed:
        policy = replace(policy, on_worker_loss=WorkerLossPolicy.LOST)
    if policy is KRON or random.random() < 0.3:
        policy = replace(policy, deadline=random.choice([0, 30 * SECOND, 5 * MINUTE, 60 * MINUTE]))
    return replace(policy, run_lease=random.choice([30, 120, 300, 900]) * SECOND)


def with_limits(random: Random, policy: Policy) -> Policy:
    """A policy with values on the axes that end or bound runs; drawn last, so that other worlds stay as they are."""
    choice = random.choice
    return replace(
        policy,
        max_runs=choice([None, None, 1, 3, 10, 40]),
        pause_on_failure=choice([None, 1, 2, 3]),
        launch_attempts=choice([None, None, 1, 3]),
        launch_factor=choice([1, 2, 3]),
        launch_max_delay=choice([2, 10, 60]) * SECOND,
        launch_jitter=choice([0, 25, 100]),
        retry_attempts=choice([None, 0, 1, 2]),
        retry_factor=choice([1, 2, 4]),
        retry_max_delay=choice([None, 30 * SECOND]),
        retry_jitter=choice([0, 50]),
        timeout=choice([None, None, 3 * SECOND, 60 * SECOND]),
        overlap_limit=choice([None, 1, 2, 3]) if policy.overlap is Overlap.ALLOW else None,
    )


def _mixed(random: Random) -> Policy:
    choice = random.choice
    jitter = choice([0, 0, 0, 2 * SECOND, 20 * SECOND, 90 * SECOND])
    sight = choice([FirstPeriod.CHOSEN, FirstPeriod.AFTER])
    if not jitter and random.random() < 0.3:
        sight = FirstPeriod.CURRENT_MINUTE
    return Policy(
        overlap=choice(list(Overlap)),
        deadline=choice([None, 0, 10 * SECOND, 5 * MINUTE]),
        suspend=random.random() < 0.05,
        catchup=choice(list(Catchup)),
        catchup_limit=choice([1, 2, 5, 100]),
        spread_over=choice([MINUTE, 10 * MINUTE]),
        queue_limit=choice([1, 3, 100]),
        jitter=jitter,
        resolution=choice([SECOND, 5 * SECOND, MINUTE]),
        retry_after=choice([None, None, 0, 20 * SECOND, 3 * MINUTE]),
        launch_for=choice([SECOND, MINUTE, 10 * MINUTE]),
        grace=choice([0, 0, MINUTE]),
        launch_backoff=choice([SECOND // 10, SECOND, 20 * SECOND]),
        on_worker_loss=choice(list(WorkerLossPolicy)),
        first_period=sight,
        resume=choice(list(Resume)),
    )
