"""Launches to try launchers with, and an ear for what they say."""

import asyncio
from dataclasses import replace

from kron.engine.launcher import Launch
from kron.language import parse
from kron.rules.launch_result import LaunchResponse
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.schedule.policy import KRON

NOMINAL = 1_772_359_200
NOW = NOMINAL * 1000  # milliseconds


def a_launch(target="", *, command=None, nominal=NOMINAL, policy=KRON, attempt=1):
    job = Job("nightly", replace(parse("0 10 * * *", dialect="kron"), policy=policy), command=command, target=target)
    key, due = key_of(job.identity, nominal), nominal * 1000
    return Launch(Run(key, job.identity, nominal, 1, due, State.LAUNCHING, attempt=attempt), job, due + 15_000)


def result_of(answer):
    """The result of an answer that may have details."""
    return answer.result if isinstance(answer, LaunchResponse) else answer


class Ear:
    """Hears what a launcher says of its keys."""

    def __init__(self):
        self.heard, self.ends, self.times = [], [], []

    async def __call__(self, key, said, code=None, excerpt="", ended=None):
        self.heard.append(said)
        self.times.append(ended)
        self.ends.append((said, code, excerpt))

    async def until(self, said, seconds=10):
        async with asyncio.timeout(seconds):
            while said not in self.heard:
                await asyncio.sleep(0.01)
        return self.heard
