"""Launches to try launchers with, and an ear for what they say."""

import asyncio
from dataclasses import replace

from kron.engine.launcher import Launch
from kron.language import parse
from kron.rules.run import Run, State
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.schedule.policy import KRON

NOMINAL = 1_772_359_200
NOW = NOMINAL * 1000  # milliseconds


def a_launch(target="", *, command=None, nominal=NOMINAL, policy=KRON, attempt=1):
    job = Job("nightly", replace(parse("0 10 * * *", dialect="kron"), policy=policy), command=command, target=target)
    key, due = key_of(job.identity, nominal), nominal * 1000
    return Launch(Run(key, job.identity, nominal, 1, due, State.LAUNCHING, attempt=attempt), job, due + 15_000)


class Ear:
    """Hears what a launcher says of its keys."""

    def __init__(self):
        self.heard = []

    async def __call__(self, key, said):
        self.heard.append(said)

    async def until(self, said, seconds=10):
        async with asyncio.timeout(seconds):
            while said not in self.heard:
                await asyncio.sleep(0.01)
        return self.heard
