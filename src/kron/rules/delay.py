"""Delays: how long Kron waits before it launches or runs something again, in milliseconds.

Jitter makes a delay shorter. It follows from the key and the attempt, so that runs that failed together are not started
again together.
"""

from __future__ import annotations

from zlib import crc32

from kron.rules.run import Run
from kron.timing.schedule.policy import MILLISECOND, Policy

MAX_STEPS = 20  # a delay grows no further after this many multiplications
MAX_DELAY_MS = 366 * 86_400_000  # milliseconds: limit of a growing delay that has no other limit


def launch_delay(run: Run, policy: Policy) -> int:
    """Return the delay before the next attempt of a launch, if the target requests none.

    The attempts of a run that was executed before include restarts as well as rejections. For such a run the limit is
    half the maximum delay.
    """
    first_delay, max_delay = policy.launch_backoff // MILLISECOND, policy.launch_max_delay // MILLISECOND
    limit = max(first_delay, max_delay if run.outcome is None else max_delay // 2)
    return _with_jitter(_grown(first_delay, policy.launch_factor, run.tries - 1, limit), run, policy.launch_jitter)


def total_launch_delay(run: Run, policy: Policy) -> int:
    """Return the total delay of the attempts so far, without jitter. Withheld attempts do not count."""
    first_delay = max(1, policy.launch_backoff // MILLISECOND)
    limit = max(first_delay, policy.launch_max_delay // MILLISECOND)
    return sum(_grown(first_delay, policy.launch_factor, n, limit) for n in range(min(run.tries, 1_000)))


def retry_delay(run: Run, policy: Policy, first_delay: int) -> int:
    """Return the delay before a failed run runs again. The run counts its last failure already.

    Args:
        run: The run.
        policy: Policy of the run.
        first_delay: Delay before the first retry, in milliseconds.
    """
    max_delay = MAX_DELAY_MS if policy.retry_max_delay is None else policy.retry_max_delay // MILLISECOND
    delay = _grown(first_delay, policy.retry_factor, run.failures - 1, max(first_delay, max_delay))
    return _with_jitter(delay, run, policy.retry_jitter)


def _grown(first_delay: int, factor: int, steps: int, limit: int) -> int:
    growth: int = factor ** min(max(0, steps), MAX_STEPS)
    return min(limit, first_delay * growth)


def _with_jitter(delay: int, run: Run, percent: int) -> int:
    return delay - delay * (crc32(f"{run.key}:{run.attempt}".encode()) % 256) * percent // 25_600
