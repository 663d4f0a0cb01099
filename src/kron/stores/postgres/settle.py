"""Settlements. The plain ones by compare-and-set, thousands in two statements; the others exactly, under a lock."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from kron.core.policy import Overlap
from kron.core.run import Run, exclusive
from kron.store import Revision, Settlement, fits, swift
from kron.stores.codec import next_at, write_job
from kron.stores.postgres.arrays import numbers, octets, texts
from kron.stores.postgres.cases import Jobs, whole
from kron.stores.postgres.pool import Talk
from kron.stores.postgres.rows import (
    acted,
    alike,
    definitions,
    digest,
    dropped,
    fold,
    key_bytes,
    moves,
    periods,
    requests,
    revised,
    standings,
)

_NOTHING_MORE = [(), None, None, None]  # no changed run, no gap, no revision, no act
_COLUMNS = ["revisions", "cursors", "seens", "next_cursors", "sinces", "wakes", "next_seens", "reaches", "nexts"]


def plain(settlement: Settlement) -> bool:
    """Whether it only adds periods of the calendar: then what was read says all that there is to check."""
    if swift(settlement):
        return True
    before, after, new, *more = settlement
    if before is None or more != _NOTHING_MORE or before.paused or before.deleted or after.paused or after.deleted:
        return False
    return not any(run.trigger for run in new) and after.since == before.since and fits(settlement, before, ())


async def advance(talk: Talk, settlements: Sequence[Settlement], columns: dict[str, Any]) -> set[str]:
    """Write the plain settlements whose schedules are still as they were read; whose those were.

    A key that exists fails all of them: then they are written exactly.
    """
    held = {name for (name,) in await talk.rows("advance", **columns["due"])}
    lost = len(held) < len(settlements)
    groups = alike(_fresh(s for s in settlements if s.after.identity in held)) if lost else columns["runs"]
    for group in groups:
        await talk.tell("record", **group)
    return held


class Ready(list[Settlement]):
    """Plain settlements of different schedules, with their columns: what is left to do is to send them."""

    def __init__(self, settlements: Iterable[Settlement]) -> None:
        super().__init__(settlements)
        self.columns = columns_of(sorted(self, key=lambda s: s.after.job.identity))


def prepare(settlements: list[Settlement]) -> list[Settlement]:
    """The settlements, ready to be sent if all of them are plain."""
    apart = len({s.after.job.identity for s in settlements}) == len(settlements)
    return Ready(settlements) if settlements and apart and all(map(plain, settlements)) else settlements


def columns_of(settlements: Sequence[Settlement]) -> dict[str, Any]:
    """The columns of plain settlements, made before the transaction begins: nobody thinks while others wait."""
    rows, fresh = [], []
    for before, after, new, *_ in settlements:
        assert before is not None  # noqa: S101  they are plain
        old, seen, cursor = before.cursor, fold(before.open) if before.open else 0, after.cursor
        reach = max([run.nominal for run in new]) if new else cursor
        job = after.job
        rows.append(
            (
                *(job.identity, before.revision, old, seen, cursor),
                *(after.since, after.wake, seen ^ fold(new), reach, next_at(after, new)),
            )
        )
        alone = job.schedule.policy.overlap is not Overlap.ALLOW
        fresh += [(run, alone) for run in new]
    names, *columns = zip(*rows, strict=True)
    due = {name: numbers(list(column)) for name, column in zip(_COLUMNS, columns, strict=True)}
    return {"due": {"schedules": texts(names), **due, "paused": False, "deleted": False}, "runs": alike(fresh)}


async def settle_exactly(talk: Talk, jobs: Jobs, settlements: Sequence[Settlement], now: int) -> list[bool]:
    """Write each settlement that holds, of different schedules, by the same lines that the store in memory uses."""
    rows = await talk.rows("lock", schedules=texts(s.after.identity for s in settlements))
    stored = {case.identity: case for case in await whole(talk, jobs, rows)}
    taken = await _taken(talk, [run for s in settlements for run in s.new])
    held = [s for s in settlements if fits(s, stored.get(s.after.identity), taken)]
    held = await _define(talk, held, stored, now)
    anew, others = list[Settlement](), list[Settlement]()
    for s in held:
        (anew if s.revision and s.after.identity in stored else others).append(s)
    if anew:
        await talk.tell("edit", **_edited(anew), now=now)
    if others:
        await _stand(talk, others, {row[0]: row for row in rows})
    await _write(talk, held, [s.revision for s in others if s.revision])
    names = {s.after.identity for s in held}
    return [s.after.identity in names for s in settlements]


async def _taken(talk: Talk, runs: Sequence[Run]) -> set[str]:
    calendar, asked = [run for run in runs if not run.trigger], [run for run in runs if run.trigger]
    found = await talk.rows("of_periods", **periods(calendar)) if calendar else []
    again = await talk.rows("requested", keys=octets(key_bytes(run.key) for run in asked)) if asked else []
    return {row[0] for row in (*found, *again)}


async def _define(talk: Talk, held: list[Settlement], known: Container[str], now: int) -> list[Settlement]:
    """Write new schedules. Who finds that somebody else has just created one does not hold after all."""
    created = [s.after.job for s in held if s.after.identity not in known]
    if not created:
        return held
    made = {name for (name,) in await talk.rows("define", **definitions(created), now=now)}
    return [s for s in held if s.after.identity in known or s.after.identity in made]


def _edited(anew: Sequence[Settlement]) -> dict[str, Any]:
    """Return the columns of schedules that are defined again: their revisions, and how far they have come."""
    afters, revisions = [s.after for s in anew], [s.revision for s in anew if s.revision]
    return revised(revisions) | standings(afters, map(_seen, anew), map(_reach, anew), map(_next, anew))


async def _stand(talk: Talk, held: Sequence[Settlement], rows: dict[str, Sequence[Any]]) -> None:
    afters = [s.after for s in held]
    digests = [rows[case.identity][1] if case.identity in rows else digest(write_job(case.job)) for case in afters]
    await talk.tell(
        "stand", **standings(afters, map(_seen, held), map(_reach, held), map(_next, held)), digests=numbers(digests)
    )


async def _write(talk: Talk, held: Sequence[Settlement], revisions: Sequence[Revision]) -> None:
    changed = [(after, exclusive(after, s.after.policy)) for s in held for _, after in s.changed]
    for starts in (False, True):  # one ends before another starts
        moved = [(run, alone) for run, alone in changed if run.active is starts]
        if moved:
            await talk.tell("move", **moves(moved))
    asked = [run for s in held for run in s.new if run.trigger]
    if asked:
        await talk.tell("request", **requests(asked))
    for group in alike(_fresh(held)):
        await talk.tell("record", **group)
    gaps = [(s.after.identity, s.gap) for s in held if s.gap]
    if gaps:
        await talk.tell("drop", **dropped(gaps))
    if revisions:
        await talk.tell("revise", **revised(revisions))
    acts = [(s.after.identity, s.act) for s in held if s.act]
    if acts:
        await talk.tell("act", **acted(acts))


def _fresh(settlements: Iterable[Settlement]) -> list[tuple[Run, bool]]:
    return [(run, exclusive(run, s.after.policy)) for s in settlements for run in s.new]


def _seen(settlement: Settlement) -> int:
    """What will be seen of the open runs."""
    runs = {run.key: run for run in settlement.before.open} if settlement.before else {}
    runs |= {run.key: run for _, run in settlement.changed} | {run.key: run for run in settlement.new}
    return fold(runs.values())


def _next(settlement: Settlement) -> int | None:
    """The next period that will have no row yet."""
    return next_at(settlement.after, settlement.new)


def _reach(settlement: Settlement) -> int:
    """The last period of the calendar that will have a row; the cursor if there is none beyond it."""
    after = settlement.after.cursor
    return max((run.nominal for run in settlement.new if not run.trigger), default=after)
