"""The register of the living in memory: who was heard of when, and since when there is somebody for each kind."""

from __future__ import annotations

from typing import NamedTuple

from kron.core.downtime import ALWAYS, EVER, Downtime
from kron.fleet import Fleet, Member


class Life(NamedTuple):
    """A worker: when it joined, when it was last heard of, and until when it counts as living."""

    joined: int
    said: int
    until: int
    kinds: frozenset[str]


class Service(NamedTuple):
    """A kind of target: when a worker for it was last heard of, until when one lives, and the last downtime."""

    said: int
    until: int
    downtime: Downtime

    def downtime_at(self, now: int) -> Downtime:
        """The last downtime, as of an instant: one that has begun and not ended counts."""
        return self.downtime if self.until > now else Downtime(self.said, EVER)


class Register:
    """Says who lives. Every store follows the same rules; this one keeps them in dictionaries."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.kinds: dict[str, Service] = {}

    def lease(self, owner: str, kinds: frozenset[str], now: int, length: int) -> Fleet:
        """Register `owner` for so many milliseconds, or as gone; all who live."""
        until = now + length
        self._count_from(now)
        self.lives = {name: life for name, life in self.lives.items() if life.until > now}
        before = self.lives.pop(owner, None)
        if until > now:
            self.lives[owner] = Life(before.joined if before else now, now, until, kinds)
            for kind in kinds:
                self._serve(kind, now, length)
        for kind in (before.kinds if before else frozenset()) - (kinds if until > now else frozenset()):
            self._leave(kind, now)
        members = tuple(Member(name, life.joined, life.kinds) for name, life in sorted(self.lives.items()))
        return Fleet(members, {kind: self.downtime(kind, now) for kind in kinds})

    def downtime(self, kind: str, now: int) -> Downtime:
        """When last no worker lived that could launch that kind."""
        service = self.kinds.get(kind)
        return ALWAYS if service is None else service.downtime_at(now)

    def _serve(self, kind: str, now: int, length: int) -> None:
        """A worker for a kind is heard of. If it was served for a moment only before, that was part of its downtime.

        A worker that is back for less than a third of its lease has not gone through what fell due before.
        """
        known, until = self.kinds.get(kind), now + length
        if known is None:
            self.kinds[kind] = Service(now, until, Downtime(-EVER, now))
        elif known.until <= now:
            moment = known.said - known.downtime.end < length / 3
            start = known.downtime.start if moment else known.said
            self.kinds[kind] = Service(now, until, Downtime(start, now))
        else:
            self.kinds[kind] = Service(now, max(until, known.until), known.downtime)

    def _leave(self, kind: str, now: int) -> None:
        """A kind is served until the last of the others that can launch it is gone."""
        left = max((life.until for life in self.lives.values() if kind in life.kinds), default=now)
        self.kinds[kind] = self.kinds[kind]._replace(said=now, until=left)

    def _count_from(self, now: int) -> None:
        """What was said by a clock that has been set back since counts from now on."""
        self.lives = {
            name: life._replace(said=min(life.said, now), until=life.until - max(0, life.said - now))
            for name, life in self.lives.items()
        }
        self.kinds = {
            kind: service._replace(said=min(service.said, now), until=service.until - max(0, service.said - now))
            for kind, service in self.kinds.items()
        }
