"""Kills: the operator is killed at each fail point and at random, and started again with its store."""

import time
from itertools import cycle

from kron.apps.operator.adopt import SETTLE_MS
from tests.campaigns.kube_faults.world import ALLOW

POINTS = ("K13", "K17", "K4", "K14", "K7", "K17", "K15", "K8", "K16")  # K17 follows a kill that leaves a doubt
KILLS = 50  # in one repetition
SPEC = {"schedule": "plus: */3 * * * * *", "policy": ALLOW, "successfulJobsHistoryLimit": 1}
PASS_SECONDS = 8.0  # in which an operator passes its fail point; otherwise it is killed where it is
QUIET_SECONDS = 0.0, 0.3, 0.7, 1.5, 3.0  # after the start, when an operator without a fail point is killed


def kill_often(world, kills=KILLS):
    """The operator is killed, most of the time at a fail point, and finds what it has left undone."""
    operator = world.operator()
    for name in ("a", "b", "c"):
        world.put(name, "failed" if name == "c" else "success", **SPEC)
    points, quiet = cycle(POINTS), cycle(QUIET_SECONDS)
    for number in range(kills):
        if number % 3 == 2:
            operator.start()
            time.sleep(next(quiet))
            operator.kill()
            world.notes["killed at random"] += 1
            continue
        point = next(points)
        passes = 1 if point == "K17" else 1 + number % 2
        operator.start(f"{point}:{passes}:kill", wait=False)
        world.notes[f"killed at {point}" if operator.dies(PASS_SECONDS) else "killed at random"] += 1
    operator.start()
    world.ended(operator, "a", 2)
    for name in ("a", "b", "c"):
        world.change(name, policy={**ALLOW, "suspend": True})
    operator.until(lambda: not any(run.open for name in ("a", "b", "c") for run in operator.runs(name)), "all runs end")


def kill_some(world):
    kill_often(world, 9)


def kill_once(world):
    """The operator is killed after it has created a Job. Without the Job's name, the next one cannot know of it."""
    operator = world.operator()
    world.put("a", **SPEC)
    operator.start("K13:1:kill", wait=False)
    assert operator.dies(60), "the operator created no Job"
    operator.start()
    time.sleep(SETTLE_MS / 1000 + PASS_SECONDS)
