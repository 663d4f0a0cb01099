"""What happened, in order: every write that a store took, everything that a target saw, every fault."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256

from kron.language.canonical import unparse
from kron.rules.run import Run
from kron.rules.update import RunUpdate, ScheduleUpdate
from tests.simulation.health import Health


@dataclass(frozen=True, slots=True)
class Write:
    """A write that held. `now` is the time that the writer went by, `shown` what the store's clock showed."""

    at: float
    now: int
    shown: int
    who: str
    what: ScheduleUpdate | RunUpdate

    @property
    def runs(self) -> list[tuple[Run | None, Run]]:
        """The runs that it wrote, each with what the writer thought it was before."""
        if isinstance(self.what, RunUpdate):
            return [(self.what.before, self.what.after)]
        return [*((None, run) for run in self.what.new), *self.what.changed]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A call that reached a target, and whether the target began to work on it."""

    at: float
    key: str
    attempt: int
    owner: str
    began: bool


@dataclass(slots=True)
class Execution:
    """A piece of work that a target did. `end` is None while it is at it."""

    key: str
    identity: str
    start: float
    attempt: int  # the last one that the target has seen
    end: float | None = None
    how: str = "running"  # success, failed, died, cancelled


@dataclass(slots=True)
class History:
    """All of it."""

    writes: list[Write] = field(default_factory=list)
    refused: int = 0
    set_back: list[tuple[float, int]] = field(default_factory=list)  # when, and what the store's clock had shown
    deliveries: list[Delivery] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    notes: list[tuple[float, str]] = field(default_factory=list)
    departed: set[tuple[str, int]] = field(default_factory=set)  # keys and attempts that were handed to a launcher
    health: Health = field(default_factory=Health)

    def fault(self, at: float, name: str, about: str = "") -> None:
        """Something went wrong, on purpose."""
        self.faults[name] += 1
        self.notes.append((at, f"{name} {about}"))

    def digest(self) -> str:
        """The whole history in one number: two equal ones happened alike, to the millisecond."""
        return sha256("\n".join(self.lines()).encode()).hexdigest()[:16]

    def lines(self) -> list[str]:
        """All of it for people, in the order in which it happened."""
        told = [(at, 0, text) for at, text in self.notes]
        told += [(w.at, 1, line) for w in self.writes for line in _of_write(w)]
        told += [(d.at, 2, _of_delivery(d)) for d in self.deliveries]
        told += [(e.end or 1e9, 3, f"target: {e.how} {e.key[:8]} begun {e.start:.3f}") for e in self.executions]
        return [f"{at:12.3f} {text}" for at, _, text in sorted(told, key=lambda line: line[:2])]


def _of_write(w: Write) -> list[str]:
    lines = [_of_run(w.who, before, run) for before, run in w.runs]
    if isinstance(w.what, ScheduleUpdate):
        before, after, gap = w.what.before, w.what.after, w.what.gap
        same = before is not None and (before.cursor, before.revision) == (after.cursor, after.revision)
        paused = " paused" if after.paused else ""
        gone = " deleted" if after.deleted else ""
        where = "" if same else f" cursor {after.cursor} since {after.effective_from}"
        lines.append(
            f"{w.who}: {after.identity} r{after.revision} now {w.now} wake {after.next_check_at}{where}{paused}{gone}"
        )
        if gap:
            said = f"{gap.first}..{gap.last} {gap.count} {gap.outcome} {gap.reason}"
            lines.append(f"{w.who}: {after.identity} gap {said}")
        if w.what.revision:
            lines.append(f"{w.who}: {after.identity} r{after.revision} {unparse(after.job.schedule)} {after.policy}")
    else:
        lines.append(f"{w.who}: {w.what.after.identity} now {w.now} wake {w.what.next_check_at}")
    return lines


def _of_run(who: str, before: Run | None, run: Run) -> str:
    was = f"{before.state}->" if before else ""
    why = f" {run.outcome} {run.reason}" if run.outcome else ""
    more = f" due {run.due} lease {run.lease} not before {run.not_before}"
    name = f"{run.nominal}/{run.trigger}" if run.trigger else f"{run.nominal}"
    return f"{who}: {run.identity} {name} {run.key[:8]} {was}{run.state} #{run.attempt} {run.owner}{why}{more}"


def _of_delivery(d: Delivery) -> str:
    return f"target: {d.key[:8]} #{d.attempt} from {d.owner} {'begins' if d.began else 'known'}"
