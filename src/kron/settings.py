"""How a worker works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in milliseconds."""

    tick: int = 1_000  # a worker sleeps no longer than this
    lookahead: int = 0  # how long before its time a schedule may be read and planned
    batch: int = 500  # schedules looked at in one pass
    lanes: int = 2  # batches of what was planned ahead on their way to the store at once
    sends: int = 20  # launches at once; one that takes long leaves its place to another
    slow_sends: int = 1_000  # launches at once that take long; a tenant or a host has a share of them
    inflight: int = 2_000  # claimed and not yet answered; beyond this it looks at nothing new
    keep: int = 120_000  # how long the result of a launch is kept that cannot be written, while others can
    lease: int = 30_000  # on a claim
    shard_lease: int = 15_000  # 0: it works alone, and looks at every shard without asking
    lead: bool = False  # one worker at a time looks, at every shard; the others only ask whether it is their turn
    timeout: int = 10_000  # of one send; no more than a third of the lease
    skew: int = 5_000  # how far this host's clock may be from the store's; beyond that it holds and sends nothing
    backoff: int = 5_000  # how long it waits at most after the store has failed it
