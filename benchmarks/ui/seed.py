"""Seed: a database with many schedules and their ledger, written set by set in the form that the engine writes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.postgres import Server, connect

from benchmarks.ui.schedules import (
    LARGEST,
    MIDDLE,
    SMALL,
    Kind,
    Seeded,
    job_of,
    kinds_of,
    label_set,
    schedules_of,
    scope_of_number,
)
from benchmarks.ui.size import Size
from kron.engine.overview import merged_before
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.language.canonical import canonical
from kron.rules.load import LoadHour, LoadTable, upcoming_minutes
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.scope import ALL, scope_of
from kron.rules.state import ScheduleState
from kron.stores.job_codec import write_job
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.maintain import weeks
from kron.stores.postgres.rows import digest, fold
from kron.stores.statements import named
from kron.timing.due import due_of
from kron.timing.key import key_of
from kron.timing.labels import label_text

SQL = named(Path(__file__).with_name("seed.sql").read_text(encoding="utf-8"))
WEEK = 7 * 86_400
RUN_LEASE_MS = 3_600_000
OWNER = "host/0000000000000001"
HOURS_PER_WRITE = 200


class Seed:
    """Seeds one database."""

    def __init__(self, server: Server, database: str, size: Size) -> None:
        self.url, self.size, self.now = server.url(database), size, int(time.time())
        self.connection = connect(self.url, autocommit=True)
        self.began = time.monotonic()

    def fill(self) -> dict[str, int]:
        """Seed everything. Returns the number of rows by what they are."""
        self._say("make_tables")
        self.connection.execute("SET session_replication_role = replica")  # the sets fulfill what triggers check
        kinds = kinds_of(self.now, self.size.days)
        schedules = list(schedules_of(kinds, self.size.schedules, self.now))
        self._copy_parts({kind.number: kind for of_cadence in kinds.values() for kind in of_cadence}, schedules)
        self._report(f"{len(schedules):,} schedules computed")
        defined = (self.now - (self.size.days + 1) * 86_400) * 1000
        for query in ("index_tables", "definitions", "names", "labels", "revisions", "actions", "gaps"):
            self._say(query, defined=defined)
            self._report(query)
        for week in weeks(self.now - self.size.days * 86_400, self.size.days // 7 + 2):
            self._fill_week(week)
        self._say("attempts")
        self._say("states", defined=defined)
        self._say("counters", merged=merged_before(self.now * 1000))
        self._say("workers", now=self.now * 1000)
        self._report("attempts, states and counters")
        asyncio.run(self._write_load(kinds, schedules))
        self._report("load")
        self._say("clean_up")
        self.connection.execute("VACUUM ANALYZE")
        self.connection.execute("CHECKPOINT")  # or the server writes what was seeded while pages are timed
        self._report("vacuum")
        counts = dict(self._say("counts").fetchall())
        self.connection.close()
        return counts

    def _say(self, query: str, **values: Any) -> Any:
        return self.connection.execute(SQL[query].encode(), values or None)

    def _report(self, what: str) -> None:
        print(f"{time.monotonic() - self.began:6.0f} s  {what}", file=sys.stderr, flush=True)

    def _copy_parts(self, kinds: dict[int, Kind], schedules: Sequence[Seeded]) -> None:
        self._copy("seed_schedules", schedules)
        self._copy("seed_jobs", _job_rows(kinds, schedules))
        plain = [kind for kind in kinds.values() if not kind.is_windowed]
        self._copy("seed_periods", ((kind.number, period) for kind in plain for period in kind.periods))
        windowed = [each for each in schedules if kinds[each.kind].is_windowed]
        self._copy("seed_dues", (row for each in windowed for row in _due_rows(each, kinds[each.kind])))
        running = [each for each in schedules if each.standing == "running"]
        self._copy("seed_running", (_running_row(each, kinds[each.kind]) for each in running))

    def _copy(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def _fill_week(self, week: int) -> None:
        """Fill the partition of a week. Its indexes are built when it is attached again, because that is faster."""
        ((name,),) = self.connection.execute("SELECT kron_make_partition(%s)", (week,)).fetchall()
        self.connection.execute(f"ALTER TABLE runs DETACH PARTITION {name}")
        for (index,) in self._say("partition_indexes", partition=name).fetchall():
            is_key = index.endswith("pkey")
            self.connection.execute(f"ALTER TABLE {name} DROP CONSTRAINT {index}" if is_key else f"DROP INDEX {index}")
        query = SQL["runs"].replace("{partition}", name)
        count = self.connection.execute(query.encode(), {"first": week, "last": week + WEEK}).rowcount
        self.connection.execute(f"ALTER TABLE runs ATTACH PARTITION {name} FOR VALUES FROM ({week}) TO ({week + WEEK})")
        self._report(f"{name}: {count:,} runs")

    async def _write_load(self, kinds: dict[str, list[Kind]], schedules: Sequence[Seeded]) -> None:
        """Count the upcoming load of all schedules and of some tenants, by the rules of the load pass."""
        set_tenant_scope(ALL_TENANTS)
        by_number = {kind.number: kind for of_cadence in kinds.values() for kind in of_cadence}
        scopes = {ALL, LARGEST, MIDDLE, SMALL} | {scope_of_number(n * 37) for n in range(self.size.load_scopes)}
        counts = {scope: Counter[int]() for scope in scopes}
        for each in schedules:
            if each.next is not None:
                counts[ALL][each.kind] += 1
                if scope_of(each.name) in scopes - {ALL}:
                    counts[scope_of(each.name)][each.kind] += 1
        minutes = {number: self._upcoming(kind) for number, kind in by_number.items()}
        store = PostgresStore(self.url)
        for scope, numbers in counts.items():
            table = LoadTable(self.now // 60)
            for number, times in numbers.items():
                for minute, runs in minutes[number]:
                    table.add(minute, runs * times, canonical(by_number[number].job.schedule).text)
            for batch in _batches(table.hours(scope, self.now * 1000)):
                await store.overview.write_load(batch)
        await store.close()

    def _upcoming(self, kind: Kind) -> list[tuple[int, int]]:
        """Return the minutes of the coming days in which a schedule of a kind has runs."""
        first = LoadTable(self.now // 60)
        state = ScheduleState(replace(kind.job, identity="seed"), 1, self.now, 0)
        return [
            (minute, runs) for minute, runs in upcoming_minutes(state, self.now * 1000, first.first, first.last) if runs
        ]


def _batches(hours: Iterator[LoadHour]) -> Iterator[list[LoadHour]]:
    batch = list[LoadHour]()
    for hour in hours:
        batch.append(hour)
        if len(batch) == HOURS_PER_WRITE:
            yield batch
            batch = []
    yield batch


def _job_rows(kinds: dict[int, Kind], schedules: Sequence[Seeded]) -> Iterator[tuple[Any, ...]]:
    """Yield the definition of each kind with each set of labels that occurs."""
    plain = {number: write_job(kind.job) for number, kind in kinds.items()}
    for kind, labels in sorted({(each.kind, each.label_set) for each in schedules}):
        row = plain[kind]._replace(labels=label_text(label_set(labels)))
        yield kind, labels, digest(row), *row


def _due_rows(schedule: Seeded, kind: Kind) -> Iterator[tuple[int, int, int]]:
    """Yield the periods of a schedule with a window, each with its own due time."""
    job = job_of(schedule.name, kind, schedule.label_set)
    for period in kind.periods:
        yield schedule.number, period, due_of(job, period).at


def _running_row(schedule: Seeded, kind: Kind) -> tuple[int, int, int, int]:
    """Return the digest of the active run of a schedule, when it was sent, and the end of its lease."""
    job = job_of(schedule.name, kind, schedule.label_set)
    sent = due_of(job, schedule.last).at + 45
    run = Run(
        key_of(schedule.name, schedule.last),
        schedule.name,
        schedule.last,
        1,
        sent - 45,
        State.STARTED,
        attempt=1,
        owner=OWNER,
        lease=sent + RUN_LEASE_MS,
    )
    return schedule.number, fold([run]), sent, sent + RUN_LEASE_MS
