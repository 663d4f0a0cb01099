"""The speed and size of the calendar beside croniter, cronsim and croniter-rs: `make bench-next`.

All libraries answer the same questions, about the same expressions and instants, in one process, by
turns; the best of several rounds counts, since noise only ever adds. What counts are the ratios.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import croniter
import croniter_rs
import cronsim

from benchmarks.corpus import EXPRESSIONS
from kron import decide, parse, periods
from kron.core.period import Period, next_nominal
from kron.core.schedule import cron as cron_module
from kron.language import fields, modifiers

ROUNDS = 9
YEAR = 31_536_000
FIRST = 1_767_225_600  # 2026-01-01T00:00:00Z
STARTS = [FIRST + YEAR * i // len(EXPRESSIONS) + 37 * i for i in range(len(EXPRESSIONS))]
MILLION = 1_000_000

Ask = Callable[[], list[object]]


def best(asks: dict[str, Ask], rounds: int = ROUNDS) -> dict[str, float]:
    """The microseconds that each takes for one expression, at best, asked by turns."""
    found = dict.fromkeys(asks, float("inf"))
    gc.disable()
    for _ in range(rounds):
        for name, ask in asks.items():
            began = time.perf_counter()
            ask()
            found[name] = min(found[name], (time.perf_counter() - began) / len(EXPRESSIONS) * 1e6)
    gc.enable()
    return found


def next_of_each(zone: str) -> dict[str, Ask]:
    """For each library: the next occurrence of every expression, parsed beforehand, after its own instant."""
    tz: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    moments = [datetime.fromtimestamp(t, tz) for t in STARTS]
    schedules = list(zip([parse(e, dialect="kron", zone=zone) for e in EXPRESSIONS], STARTS, strict=True))
    walked = list(zip([s for s, _ in schedules], moments, strict=True))
    both = list(zip(EXPRESSIONS, moments, strict=True))
    iters = [(croniter.croniter(expression, moment), moment) for expression, moment in both]
    rusty = [(croniter_rs.croniter(expression, moment), moment) for expression, moment in both]
    sims = [cronsim.CronSim(expression, moment) for expression, moment in both]
    # Its public way to ask after an instant is to parse anew; putting its clock back is the fairest there is. Where it
    # minds the changes of the clock itself, it keeps the instant without its zone.
    resets = [(sim, sim.dt) for sim in sims]

    def ask_cronsim() -> list[object]:
        answers: list[object] = []
        for sim, start in resets:
            sim.dt = start
            answers.append(next(sim))
        return answers

    return {
        "kron": lambda: [next_nominal(schedule, t) for schedule, t in schedules],
        "kron, periods()": lambda: [next(periods(schedule, moment)) for schedule, moment in walked],
        "croniter": lambda: [it.get_next(float, start_time=moment) for it, moment in iters],
        "cronsim": ask_cronsim,
        "cronsim, asked anew": lambda: [next(cronsim.CronSim(expression, moment)) for expression, moment in both],
        "croniter-rs": lambda: [it.get_next(float, start_time=moment) for it, moment in rusty],
    }


def parse_and_next() -> dict[str, Ask]:
    """From the text to the next occurrence. Cold: Kron has not read any of its fields before."""
    moments = [datetime.fromtimestamp(t, UTC) for t in STARTS]

    def kron() -> list[object]:
        return [next_nominal(parse(e, dialect="kron"), t) for e, t in zip(EXPRESSIONS, STARTS, strict=True)]

    def cold() -> list[object]:
        forget()
        return kron()

    def peer() -> list[object]:
        return [croniter.croniter(e, m).get_next(float) for e, m in zip(EXPRESSIONS, moments, strict=True)]

    return {"kron": kron, "kron, cold": cold, "croniter": peer}


def decisions() -> dict[str, Ask]:
    """A decision, uniform over an hour, beside one step of croniter."""
    schedule = parse("0 2 * * * @win(after,1h)", dialect="kron")
    found = [Period(t // 60 * 60) for t in STARTS]
    return {"kron": lambda: [decide(schedule, p, "prod/db-backup") for p in found]}


def forget() -> None:
    """Empty every cache that a text or a cron is looked up in."""
    for module in (fields, modifiers, cron_module):
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
    asks = next_of_each("UTC")
    ours = asks["kron"]()
    for name in ("croniter", "cronsim", "croniter-rs"):
        theirs = [answer.timestamp() if isinstance(answer, datetime) else answer for answer in asks[name]()]
        differing = [row for row in zip(EXPRESSIONS, theirs, ours, strict=True) if row[1] != row[2]]
        if differing:
            raise SystemExit(f"{name} and Kron do not do the same work: {differing[:3]}")


def main() -> int:
    """Measure, print, judge."""
    agree()
    reached = []

    def target(what: str, ratio: float, wanted: float) -> None:
        reached.append(ratio >= wanted)
        print(f"  {'reached    ' if ratio >= wanted else 'NOT REACHED'}  {what}: {ratio:.1f}x, wanted {wanted}x")

    wanted = {"UTC": (60, 40, 2), "America/New_York": (30, 20, 1)}
    step = 0.0
    for zone, (to_croniter, to_cronsim, to_rs) in wanted.items():
        found = best(next_of_each(zone))
        print(f"next occurrence, {zone}: " + ", ".join(f"{name} {us:.2f} us" for name, us in found.items()))
        target("croniter", found["croniter"] / found["kron"], to_croniter)
        target("cronsim", found["cronsim"] / found["kron"], to_cronsim)
        target("croniter-rs", found["croniter-rs"] / found["kron"], to_rs)
        step = step or found["croniter"]
    found = best(parse_and_next())
    print("parse + next, UTC: " + ", ".join(f"{name} {us:.2f} us" for name, us in found.items()))
    target("croniter, caches warm", found["croniter"] / found["kron"], 20)
    target("croniter, caches cold", found["croniter"] / found["kron, cold"], 20)
    found = best(decisions())
    print(f"decide, uniform over an hour: {found['kron']:.2f} us")
    target("one step of croniter", step / found["kron"], 10)
    one, each = bytes_of_one(), bytes_of_each_of_a_million()
    print(f"memory: one schedule at most {one:.0f} bytes, a million {each:.0f} bytes each")
    target("one schedule under 1 KB", 1024 / one, 1)
    target("each of a million under 300 bytes", 300 / each, 1)
    print(f"{'PASS' if all(reached) else 'FALLS SHORT'}: {sum(reached)} of {len(reached)} targets reached")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
