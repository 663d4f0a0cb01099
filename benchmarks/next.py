"""The speed and size of the calendar beside croniter, cronsim and croniter-rs: `make bench-next`.

All libraries answer the same questions, about the same expressions and instants, in one process and by
turns. Noise only ever adds, so of every piece of a round the best time counts; a slow library's round is
cut into more pieces, all about as long as the whole round of a fast one, lest noise spare the fast.
What counts are the ratios. Kron's caches are warm, as in a process that has been up for a while, except
where it says cold: there they are emptied before each round.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import croniter
import croniter_rs
import cronsim

from benchmarks.corpus import EXPRESSIONS, STARTS
from kron import decide, parse, periods
from kron.language import fields, kron
from kron.timing.period import Period, next_nominal
from kron.timing.schedule import cron as cron_module

ROUNDS = 25
PIECE = 200e-6  # seconds, about
MILLION = 1_000_000


class Asked(NamedTuple):
    """How a library answers a list of questions, and the list: one for each expression."""

    answers: Callable[[list[Any]], list[Any]]
    questions: list[Any]


def best(libraries: dict[str, Asked], before: Callable[[], None] = lambda: None) -> dict[str, float]:
    """The microseconds that each takes for one question, at best, with something done before each round."""
    found: dict[str, list[float]] = {}
    gc.disable()
    for _ in range(ROUNDS):
        before()
        for name, asked in libraries.items():
            if name not in found:
                count = max(1, min(len(EXPRESSIONS), int(sum(timed(asked, 1)) / PIECE)))
                found[name] = [float("inf")] * count
            times = timed(asked, len(found[name]))
            found[name] = [min(best, now) for best, now in zip(found[name], times, strict=True)]
    gc.enable()
    return {name: sum(seconds) / len(EXPRESSIONS) * 1e6 for name, seconds in found.items()}


def timed(asked: Asked, count: int) -> list[float]:
    """The seconds that a round takes, in so many pieces."""
    answers, questions = asked
    cuts = [len(questions) * n // count for n in range(count + 1)]
    pieces = [questions[start:end] for start, end in pairwise(cuts)]
    times = []
    for piece in pieces:
        began = time.perf_counter()
        answers(piece)
        times.append(time.perf_counter() - began)
    return times


def next_of_each(zone: str) -> dict[str, Asked]:
    """For each library: the next occurrence of every expression, parsed beforehand, after its own instant."""
    tz: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    moments = [datetime.fromtimestamp(t, tz) for t in STARTS]
    both = list(zip(EXPRESSIONS, moments, strict=True))
    schedules = [parse(expression, dialect="kron", timezone=zone) for expression in EXPRESSIONS]
    iters = [croniter.croniter(expression, moment) for expression, moment in both]
    rusty = [croniter_rs.croniter(expression, moment) for expression, moment in both]
    sims = [cronsim.CronSim(expression, moment) for expression, moment in both]
    floats = [float(t) for t in STARTS]

    # Its public way to ask after an instant is to parse anew; putting its clock back is the fairest there is. Where it
    # minds the changes of the clock itself, it keeps the instant without its zone.
    def reset(questions: list[tuple[cronsim.CronSim, datetime]]) -> list[datetime]:
        answers = []
        for sim, start in questions:
            sim.dt = start
            answers.append(next(sim))
        return answers

    return {
        "kron": Asked(lambda qs: [next_nominal(schedule, t) for schedule, t in qs], _pairs(schedules, STARTS)),
        "kron, periods()": Asked(lambda qs: [next(periods(s, moment)) for s, moment in qs], _pairs(schedules, moments)),
        "croniter": Asked(lambda qs: [it.get_next(float, t) for it, t in qs], _pairs(iters, floats)),
        "cronsim": Asked(reset, [(sim, sim.dt) for sim in sims]),
        "cronsim, asked anew": Asked(lambda qs: [next(cronsim.CronSim(text, moment)) for text, moment in qs], both),
        # Seconds are its cheapest question, but then it takes every zone for UTC.
        "croniter-rs": Asked(
            lambda qs: [it.get_next(float, t) for it, t in qs], _pairs(rusty, floats if zone == "UTC" else moments)
        ),
    }


def _pairs(some: list[Any], others: list[Any]) -> list[Any]:
    return list(zip(some, others, strict=True))


def parse_and_next() -> dict[str, Asked]:
    """From the text to the next occurrence."""
    moments = [datetime.fromtimestamp(t, UTC) for t in STARTS]
    return {
        "kron": Asked(
            lambda qs: [next_nominal(parse(text, dialect="kron"), t) for text, t in qs], _pairs(EXPRESSIONS, STARTS)
        ),
        "croniter": Asked(
            lambda qs: [croniter.croniter(text, moment).get_next(float) for text, moment in qs],
            _pairs(EXPRESSIONS, moments),
        ),
    }


def decisions() -> dict[str, Asked]:
    """A decision, uniform over an hour."""
    schedule = parse("0 2 * * * @win(after,1h)", dialect="kron")
    found = [Period(t // 60 * 60) for t in STARTS]
    return {"kron": Asked(lambda qs: [decide(schedule, period, "prod/db-backup") for period in qs], found)}


def forget() -> None:
    """Empty every cache that a text or a cron is looked up in."""
    for module in (fields, kron, cron_module):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def bytes_of_one() -> float:
    """What one parsed schedule keeps, with nothing shared: caches are empty before, and their entries count."""
    sizes = []
    parse("* * * * *", dialect="kron")
    for expression in EXPRESSIONS[::10]:
        forget()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept = parse(expression, dialect="kron")
        forget()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0] - before)
        tracemalloc.stop()
        del kept
    return max(sizes)


def bytes_of_each_of_a_million() -> float:
    """What each of a million schedules keeps: a schedule per customer, at a minute of its own."""
    texts = [f"{i % 60} {i // 60 % 24} * * {i % 7}" for i in range(MILLION)]
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [parse(text, dialect="kron") for text in texts]
    each = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    tracemalloc.stop()
    return each


def agree() -> None:
    """All libraries do the same work: in UTC their answers are the same instants."""
    answered = {name: answers(questions) for name, (answers, questions) in next_of_each("UTC").items()}
    for name in ("croniter", "cronsim", "cronsim, asked anew", "croniter-rs"):
        theirs = [answer.timestamp() if isinstance(answer, datetime) else answer for answer in answered[name]]
        differing = [row for row in zip(EXPRESSIONS, theirs, answered["kron"], strict=True) if row[1] != row[2]]
        if differing:
            raise SystemExit(f"{name} and Kron do not do the same work: {differing[:3]}")


def show(what: str, found: dict[str, float]) -> None:
    """A table: microseconds, and how many times as long as Kron it takes."""
    print(what)
    for name, us in found.items():
        print(f"  {name:22}{us:9.2f} us{us / found['kron']:9.1f} x")


def main() -> int:
    """Measure, print, judge."""
    agree()
    targets: list[tuple[str, float, float]] = []
    step = 0.0
    for zone, wanted in {"UTC": (60, 40, 2), "America/New_York": (30, 20, 1)}.items():
        found = best(next_of_each(zone))
        show(f"next occurrence, {zone}, parsed beforehand", found)
        for peer, times in zip(("croniter", "cronsim", "croniter-rs"), wanted, strict=True):
            targets.append((f"next, {zone}: as fast as {peer}", found[peer] / found["kron"], times))
        step = step or found["croniter"]
    for state, before in {"warm": lambda: None, "cold": forget}.items():
        found = best(parse_and_next(), before)
        show(f"parse + next, UTC, caches {state}", found)
        targets.append((f"parse + next, {state}: as fast as croniter", found["croniter"] / found["kron"], 20))
    decided = best(decisions())["kron"]
    show("decide, uniform over an hour", {"kron": decided, "one step of croniter": step})
    targets.append(("decide: as fast as one step of croniter", step / decided, 10))
    one, each = bytes_of_one(), bytes_of_each_of_a_million()
    print(f"memory\n  one schedule at most {one:.0f} bytes, each of a million {each:.0f} bytes\n")
    targets.append(("one schedule: as small as 1 KB", 1024 / one, 1))
    targets.append(("each of a million: as small as 300 bytes", 300 / each, 1))
    for what, times, wanted in targets:
        print(f"{'reached' if times >= wanted else 'NOT reached':12}{what}: {times:.1f} times, wanted {wanted}")
    missed = sum(times < wanted for _, times, wanted in targets)
    print(f"{'FALLS SHORT' if missed else 'PASS'}: {len(targets) - missed} of {len(targets)} targets reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
