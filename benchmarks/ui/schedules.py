"""Schedules of the benchmark: names in tenants of very different sizes, texts, zones, labels, and their progress."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from kron import parse
from kron.engine.fleet import shard_of
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.labels import label_tuple
from kron.timing.period import next_nominal, nominals
from kron.timing.schedule.policy import KRON, MINUTE, Completion

LARGEST, MIDDLE, SMALL = "acme/", "c007/", "s0003/"  # tenants whose pages are measured
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Australia/Lord_Howe")
TEAMS = ("billing", "crm", "db", "etl", "fx", "gdpr", "mail", "ml", "orders", "reports", "search", "web")
PLANS = ("free", "team", "company")
TARGET = "https://jobs.example/run"
POLICY = replace(KRON, deadline=10 * MINUTE, completion=Completion.REPORTED)
DAY = 86_400
SHARES = {"weekly": 0.62, "daily": 0.213, "monthly": 0.1609, "windowed": 0.005, "hourly": 0.001, "often": 0.0001}
PAUSED, DELETED, LATE, BREAK, EDITED = 0.005, 0.005, 0.0005, 0.012, 0.05  # shares of the schedules
RUNNING = 0.2  # share of the schedules that were due in the last RUNNING_SECONDS
RUNNING_SECONDS = 2_400


class Kind(NamedTuple):
    """Schedules of the same text and zone, with their periods; windowed schedules have due times of their own."""

    number: int
    job: Job
    periods: tuple[int, ...]  # nominal times within the ledger, in seconds
    following: int  # the first nominal time after it

    @property
    def is_windowed(self) -> bool:
        """Whether the due times differ from the nominal times, and from schedule to schedule."""
        return bool(self.job.schedule.window.duration)


class Seeded(NamedTuple):
    """Schedule with what became of it. Times are in seconds, except `wake`."""

    number: int
    name: str
    kind: int
    label_set: int
    shard: int
    standing: str  # active, late, running, paused or deleted
    stopped: int | None  # when it was paused or deleted
    last: int  # last handled period
    next: int | None
    wake: int | None  # milliseconds
    edited: int | None  # when it got its second revision
    break_from: int | None  # periods without runs
    break_to: int | None


def kinds_of(now: int, days: int) -> dict[str, list[Kind]]:
    """Return the kinds by cadence."""
    hours, minutes = range(24), (0, 7, 30, 45)
    texts = {
        "weekly": [f"{hour * 7 % 60} {hour} * * {day}" for hour, day in product(hours, range(7))],
        "daily": [f"{minute} {hour} * * *" for hour, minute in product(hours, minutes)],
        "monthly": [f"15 {day % 24} {day} * *" for day in range(1, 29)],
        "windowed": [f"0 {hour} * * * @win(after,1h)" for hour in hours],
        "hourly": [f"{minute} * * * *" for minute in (0, 12, 25, 48)],
        "often": ["*/5 * * * *"],
    }
    kinds, number = dict[str, list[Kind]](), 0
    for cadence, cadence_texts in texts.items():
        for text, zone_name in product(cadence_texts, ZONES):
            kinds.setdefault(cadence, []).append(_kind(number, f"{text} @tz({zone_name})", now, days))
            number += 1
    return kinds


def _kind(number: int, text: str, now: int, days: int) -> Kind:
    schedule = replace(parse(text, dialect="kron"), policy=POLICY)
    following = next_nominal(schedule, now)
    assert following is not None
    periods = tuple(nominals(schedule, now - days * DAY, now))
    return Kind(number, Job("", schedule, target=TARGET), periods, following)


@lru_cache(1_000)
def label_set(number: int) -> tuple[tuple[str, str], ...]:
    """Return the labels with that number."""
    team, plan = TEAMS[number % len(TEAMS)], PLANS[number // len(TEAMS)]
    return label_tuple({"plan": plan, "team": team})


def scope_of_number(number: int) -> str:
    """Return the tenant of the nth schedule; some schedules have none."""
    part, hundred = number % 100, number // 100
    if part < 70:
        return "acme/" if part < 40 else "globex/" if part < 60 else "initech/"
    if part < 90:
        return f"c{number % 199:03}/"
    return f"s{hundred % 1_000:04}/" if part < 95 else ""


def schedules_of(kinds: dict[str, list[Kind]], count: int, now: int) -> Iterator[Seeded]:
    """Yield all schedules."""
    chance, cadences, weights = random.Random(1), list(SHARES), list(SHARES.values())
    for number in range(count):
        cadence = chance.choices(cadences, weights)[0]
        labels = chance.randrange(len(TEAMS) * len(PLANS))
        name = f"{scope_of_number(number)}{TEAMS[labels % len(TEAMS)]}.{cadence}-{number:07d}"
        kind = chance.choice(kinds[cadence])
        yield _seeded(number, name, kind, labels, chance, now)


def job_of(name: str, kind: Kind, labels: int) -> Job:
    """Return the job of a schedule."""
    return replace(kind.job, identity=name, labels=label_set(labels))


def _seeded(number: int, name: str, kind: Kind, labels: int, chance: random.Random, now: int) -> Seeded:
    before = _handled(name, kind, now)
    last, following = (before[-1], kind.following) if before else (now - 31 * DAY, kind.following)
    if kind.is_windowed:
        following = kind.periods[len(before)] if len(before) < len(kind.periods) else kind.following
    standing, stopped, draw = "active", None, chance.random()
    if draw < PAUSED + DELETED:
        standing, stopped = "paused" if draw < PAUSED else "deleted", now - chance.randrange(DAY, 20 * DAY)
        last = max((period for period in before if period <= stopped), default=last)
    elif draw < PAUSED + DELETED + LATE and len(before) > 1:
        standing, last, following = "late", before[-2], before[-1]
    elif now - last < RUNNING_SECONDS and chance.random() < RUNNING:
        standing = "running"
    begin = now - chance.randrange(8, 25) * DAY
    is_interrupted = standing == "active" and not kind.is_windowed and chance.random() < BREAK
    changes = (
        now - chance.randrange(3_600, 20 * DAY) if chance.random() < EDITED else None,
        *((begin, begin + 3 * DAY) if is_interrupted else (None, None)),
    )
    is_stopped = stopped is not None
    wake = None if is_stopped else due_of(replace(kind.job, identity=name), following).at
    next_at = None if is_stopped else following
    return Seeded(number, name, kind.number, labels, shard_of(name), standing, stopped, last, next_at, wake, *changes)


def _handled(name: str, kind: Kind, now: int) -> tuple[int, ...]:
    """Return the periods of the ledger that were due before now."""
    if not kind.is_windowed:
        return kind.periods
    job = replace(kind.job, identity=name)
    return tuple(period for period in kind.periods if due_of(job, period).at < now * 1000)
