"""Worker register in memory: the lease of each worker, and the last downtime of each target kind."""

from __future__ import annotations

from typing import NamedTuple

from kron.engine.fleet import Fleet, Member
from kron.rules.downtime import ALWAYS, EVER, Downtime


class Life(NamedTuple):
    """A worker: when it joined, renewed its lease, and when the lease ends (milliseconds); kinds and tz database."""

    joined: int
    said: int
    until: int
    kinds: frozenset[str]
    tz: str


class Service(NamedTuple):
    """A target kind: last lease renewal of a worker that can launch it, end of that lease, and the last downtime."""

    said: int
    until: int
    downtime: Downtime

    def downtime_at(self, now: int) -> Downtime:
        """Return the last downtime as of `now`. A downtime that has begun and not ended counts."""
        return self.downtime if self.until > now else Downtime(self.said, EVER)


class Register:
    """Leases of workers and downtimes of target kinds. All stores share these rules; this class uses dictionaries."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.kinds: dict[str, Service] = {}

    def lease(self, owner: str, kinds: frozenset[str], now: int, length: int, tz: str = "") -> Fleet:
        """Lease `owner` for `length` milliseconds; a length of 0 removes it. Returns all living workers."""
        until = now + length
        self._restart_leases(now)
        self.lives = {name: life for name, life in self.lives.items() if life.until > now}
        previous = self.lives.pop(owner, None)
        if until > now:
            self.lives[owner] = Life(previous.joined if previous else now, now, until, kinds, tz)
            for kind in kinds:
                self._record_lease(kind, now, length)
        for kind in (previous.kinds if previous else frozenset()) - (kinds if until > now else frozenset()):
            self._record_departure(kind, now)
        members = tuple(Member(name, life.joined, life.kinds, life.tz) for name, life in sorted(self.lives.items()))
        return Fleet(members, {kind: self.downtime(kind, now) for kind in kinds})

    def downtime(self, kind: str, now: int) -> Downtime:
        """Return the last interval in which no living worker could launch that kind."""
        service = self.kinds.get(kind)
        return ALWAYS if service is None else service.downtime_at(now)

    def _record_lease(self, kind: str, now: int, length: int) -> None:
        """Record a lease for a kind. If the kind was served only for a moment before, that moment extends its downtime.

        A worker that was back for less than a third of its lease has not handled the periods of the downtime.
        """
        service, until = self.kinds.get(kind), now + length
        if service is None:
            self.kinds[kind] = Service(now, until, Downtime(-EVER, now))
        elif service.until <= now:
            was_brief = service.said - service.downtime.end < length / 3
            start = service.downtime.start if was_brief else service.said
            self.kinds[kind] = Service(now, until, Downtime(start, now))
        else:
            self.kinds[kind] = Service(now, max(until, service.until), service.downtime)

    def _record_departure(self, kind: str, now: int) -> None:
        """Record that a worker left: the kind is served until the last lease of the other workers for it ends."""
        last_end = max((life.until for life in self.lives.values() if kind in life.kinds), default=now)
        self.kinds[kind] = self.kinds[kind]._replace(said=now, until=last_end)

    def _restart_leases(self, now: int) -> None:
        """Restart leases from `now` that were written before the clock was set back."""
        self.lives = {
            name: life._replace(said=min(life.said, now), until=life.until - max(0, life.said - now))
            for name, life in self.lives.items()
        }
        self.kinds = {
            kind: service._replace(said=min(service.said, now), until=service.until - max(0, service.said - now))
            for kind, service in self.kinds.items()
        }
