"""Who was well when: an observer of the workers that knows nothing of leases. It knows downtimes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(slots=True)
class Life:
    """One worker: what it can launch, when it lived, and when it stood still or could not reach the store."""

    kinds: frozenset[str]
    born: float
    died: float = float("inf")
    ills: list[tuple[float, float]] = field(default_factory=list)


@dataclass(slots=True)
class Health:
    """All workers, and when the store could not be reached by any of them."""

    lives: dict[str, Life] = field(default_factory=dict)
    outages: list[tuple[float, float]] = field(default_factory=list)

    def spells(self, owner: str, begin: float, end: float) -> bool:
        """Whether something was wrong with a worker, or with the store, at any time from the one to the other."""
        life = self.lives.get(owner)
        if life is None or life.died < end:
            return True
        return any(a < end and b > begin for a, b in (*life.ills, *self.outages))

    def well(self, kind: str, begin: float, end: float, but: str = "") -> bool:
        """Whether a worker that can launch that kind was well all the time; one of them does not count."""
        able = (name for name, life in self.lives.items() if kind in life.kinds and life.born <= begin)
        return any(not self.spells(name, begin, end) for name in able if name != but)

    def down(self, kind: str, begin: float, end: float, but: str = "") -> bool:
        """Whether no worker, but for one, that can launch that kind was well at any time from the one to the other."""
        edges = sorted({begin, end, *self._edges(kind, begin, end)})
        return not any(self.well(kind, a, b, but) for a, b in pairwise(edges))

    def _edges(self, kind: str, begin: float, end: float) -> Iterable[float]:
        for life in self.lives.values():
            if kind in life.kinds:
                for a, b in ((life.born, life.died), *life.ills):
                    yield from (t for t in (a, b) if begin < t < end)
        yield from (t for outage in self.outages for t in outage if begin < t < end)
