"""Clocks: that of the operator and its store is set while it runs, and is right again afterwards."""

import time

from kron.rules.run_state import State

DAY = 86_400
WRONG_SECONDS = 10.0  # for which the clock is wrong at least


def _jump(world, seconds):
    """No handled period runs again. The skew is told, and a clock that was behind is caught up with."""
    operator = world.operator(proxy=world.proxy())  # without TLS: certificates have times, too
    world.put("a", policy={"concurrency": "allow", "deadline": "30s"})
    operator.start(faked=True)
    world.ended(operator, "a", 2)
    operator.set_clock(seconds)
    time.sleep(WRONG_SECONDS)
    operator.until(lambda: world.condition("a", "Degraded")["status"] == "True", "the status tells the skew")
    world.check(world.condition("a", "Degraded")["reason"] == "ClockSkew", "the condition has another reason")
    operator.until(lambda: world.events()["ClockSkew"] == 1, "one event tells the skew")
    if seconds < 0:
        before = len(operator.runs("a"))
        time.sleep(5)
        world.check(len(operator.runs("a")) == before, "periods of the past ran")
        operator.set_clock(0)
        operator.until(lambda: world.condition("a", "Degraded")["status"] == "False", "the skew is over")
        world.ended(operator, "a", 2)
    else:
        operator.kill()
        operator.start(faked=True)
        world.ended(operator, "a", 1)
    late = [run for run in operator.runs("a") if run.state is State.UNKNOWN]
    world.check(not late, f"{len(late)} runs are unknown")


def ahead_90(world):
    _jump(world, 90)


def behind_90(world):
    _jump(world, -90)


def ahead_day(world):
    _jump(world, DAY)


def behind_day(world):
    _jump(world, -DAY)
