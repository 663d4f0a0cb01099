"""Jobs of the web applications in `web_kills`: each notes when it begins and ends, and in which process."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from random import Random

from kron import current_run
from kron.apps.embedded import options
from kron.timing.schedule.policy import SECOND
from tests.integrations.web_jobs import EVERY_SECONDS, LEASE_SECONDS

LONGEST_SECONDS = 2.0
OPTIONS = {
    "dialect": "service",
    "overlap": "allow",
    "catchup": "all",
    "restart_lost": True,
}  # every period runs, and a killed one again
options.APPLICATION = replace(options.APPLICATION, run_lease=LEASE_SECONDS * SECOND)

_random = Random()
_journal = os.open(os.environ["JOURNAL"], os.O_APPEND | os.O_WRONLY)


def schedule(name: str) -> str:
    """Every 10 seconds, for each job in a second of its own choice."""
    second = int(name.split("-")[2]) % EVERY_SECONDS
    return f"{second}-59/{EVERY_SECONDS} * * * * *"


def seconds() -> float:
    return _random.uniform(0, LONGEST_SECONDS)


def note(what: str) -> None:
    run = current_run()
    line = [what, time.time(), os.getpid(), run.job, run.key, run.attempt]
    os.write(_journal, (json.dumps(line) + "\n").encode())
