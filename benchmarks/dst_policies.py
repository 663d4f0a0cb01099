"""Which rule for clock changes each scheduler keeps: the third table of the DST board.

A case is a change of the clocks, an expression, and the days around the change, forwards. A scheduler keeps a rule in a
case if its answer is what the rule says. The rules are those of @dst; what they say comes from the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tests import plus_oracle

from benchmarks.dst_board import EXPRESSIONS, LIBRARIES, Case, answer, changes
from benchmarks.dst_peers import recorded, recorded_answer

RULES = (*(f"gap={gap},fold={fold}" for gap, fold in plus_oracle.POLICIES), "once")


def table() -> Iterator[str]:
    """The lines of the table, in Markdown."""
    peers = [*list(LIBRARIES)[1:], *recorded()]
    counts = {peer: kept(peer) for peer in peers}
    yield "| Rule | Kron with this rule |" + "".join(f" {peer} |" for peer in peers)
    yield "|---|---:|" + "---:|" * len(peers)
    for rule in RULES:
        cells = [_cell(counts[peer][rule], max(counts[peer].values())) for peer in peers]
        yield f"| `@dst({rule})` | {kept_by_kron(rule)} | {' | '.join(cells)} |"
    asked = [sum(reply(peer, case) is not None for case in cases()) for peer in peers]
    yield f"| Cases | {len(cases())} | {' | '.join(map(str, asked))} |"


def _cell(count: int, greatest: int) -> str:
    return f"**{count}**" if count == greatest else str(count)


@cache
def cases() -> list[Case]:
    """All cases, forwards."""
    return [Case(change, text, backwards=False) for change in changes() for text in EXPRESSIONS]


@cache
def expected(rule: str, case: Case) -> list[int]:
    """What a rule says."""
    return plus_oracle.instants(f"{case.expression} @dst({rule})", case.change.zone, case.start, case.end)


def reply(peer: str, case: Case) -> list[int] | str | None:
    """What a scheduler says; None if it cannot be asked."""
    return answer(peer, case) if peer in LIBRARIES else recorded_answer(peer, case)


def kept(peer: str) -> dict[str, int]:
    """In how many cases a scheduler keeps each rule."""
    return {rule: sum(reply(peer, case) == expected(rule, case) for case in cases()) for rule in RULES}


def kept_by_kron(rule: str) -> int:
    """In how many cases Kron keeps the rule that its text names."""
    from kron import parse
    from kron.timing.period import nominals

    count = 0
    for case in cases():
        schedule = parse(f"{case.expression} @dst({rule})", dialect="plus", timezone=case.change.zone)
        count += list(nominals(schedule, case.start - 1, case.end - 1)) == expected(rule, case)
    return count
