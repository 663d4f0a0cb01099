"""Settings of a worker."""

from __future__ import annotations

from dataclasses import dataclass

from kron.engine.target_limit import TargetLimit


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a worker. Times are in milliseconds."""

    tick: int = 1_000  # maximum time between two passes of an idle worker
    aligned: bool = False  # an idle worker makes its passes at multiples of the tick
    min_pass_interval: int = (
        0  # minimum time between two passes, unless more schedules are due than one pass can launch
    )
    lookahead: int = 0  # how long before its due time a period may be planned; 0: no prefetch
    batch: int = 500  # maximum schedules read in one pass
    parallel_commits: int = 2  # prefetched batches committed concurrently
    max_concurrent_launches: int = 20  # fast launch slots; a slow launch leaves its slot to another
    max_slow_launches: int = 1_000  # slow launches at once; a tenant or a host has a share of them
    target_limits: tuple[TargetLimit, ...] = ()  # of all workers together; each takes its part
    breaker_failures: int = 10  # failed launches in a row, after which a target is held; 0: never
    breaker_hold: int = 10_000  # length of the first hold; doubles with each probe that fails
    breaker_max_hold: int = 60_000  # longest hold
    inflight: int = 2_000  # maximum claimed runs without a result; at this limit the worker reads no more schedules
    max_result_age: int = 120_000  # how long a result is kept that cannot be written while others can
    lease: int = 30_000  # length of a claim
    shard_lease: int = 15_000  # 0: the worker works alone and reads all shards without registering
    leader_election: bool = (
        False  # one worker at a time reads all shards; the others only check whether they are the leader
    )
    timeout: int = 10_000  # of one launch attempt; at most a third of the lease
    max_clock_skew: int = 5_000  # beyond this clock skew, the worker releases its shards and launches nothing
    backoff: int = 5_000  # maximum wait after a pass that failed because of the store
