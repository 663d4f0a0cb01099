"""Database diagnosis for `kron doctor`: findings with remedies. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kron.engine.clock import Clock
from kron.errors import KronError
from kron.stores.postgres.maintain import WEEK, weeks
from kron.stores.postgres.migrate import migrate
from kron.stores.postgres.pool import Session
from kron.stores.postgres.store import PostgresStore

OLDEST = 150_000  # oldest supported PostgreSQL version
LATE = 10_000  # milliseconds that a due schedule may wait
SKEW = 1_000  # milliseconds of clock skew
_EVER = 1 << 60  # seconds: beyond every period


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check: its level (`ok`, `warning` or `error`), a message, and a hint on what to do."""

    level: str
    check: str
    message: str
    hint: str = ""


async def examine(url: str, store: PostgresStore, clock: Clock) -> list[Finding]:
    """Run all checks and return their findings; only the schema check if the tables are missing."""
    try:
        found = [_schema([migration.name for migration in await migrate(url, dry=True)])]
    except KronError as error:
        return [Finding("error", "schema", error.message, error.hint)]
    if found[0].level == "error":
        return found
    read = store.pool.read
    for look in (_durability, _rights, _lag, _bloat, _partitions, _workers, _aside):
        found += await read(look)
    return [*found, await _skew(store, clock)]


def _schema(missing: list[str]) -> Finding:
    if missing:
        return Finding("error", "schema", f"not migrated yet: {', '.join(missing)}", "run `kron migrate`")
    return Finding("ok", "schema", "all migrations have run")


async def _durability(talk: Session) -> list[Finding]:
    ((version, fsync, pages, commit, special),) = await talk.rows("durability")
    return list(_durable(version, {"fsync": fsync, "full_page_writes": pages, "synchronous_commit": commit}, special))


def _durable(version: int, settings: dict[str, str], special: bool) -> Iterator[Finding]:
    if version < OLDEST:
        yield Finding("error", "version", f"PostgreSQL {version // 10_000} is too old", "upgrade to 15 or newer")
    off = [name for name, value in settings.items() if value == "off"]
    if off:
        hint = "turn it on: a power failure must not lose the record of a launched run"
        yield Finding("error", "durability", f"{', '.join(off)} is off", hint)
    else:
        yield Finding("ok", "durability", "commits are durable")
    if special:
        hint = "connect as a role without SUPERUSER and BYPASSRLS"
        yield Finding("warning", "role", "this role sees the rows of every tenant", hint)


async def _rights(talk: Session) -> list[Finding]:
    lacking = await talk.rows("lacking")
    if lacking:
        some = ", ".join(f"{role}: {right}" for role, right in lacking[:3]) + (", ..." if lacking[3:] else "")
        hint = "run `kron migrate` as the owner: it grants what is missing, also to roles that were created later"
        return [Finding("error", "rights", f"{_counted(len(lacking), 'privilege')} missing ({some})", hint)]
    return [Finding("ok", "rights", "kron_api, kron_worker and kron_auditor have their privileges, where they exist")]


async def _lag(talk: Session) -> list[Finding]:
    ((count, oldest),) = await talk.rows("lag")
    waiting = f"{_counted(count, 'due schedule')} waiting"
    if oldest > LATE:
        hint = "check that workers run and can reach the database; add a worker if they are busy"
        return [Finding("error", "lag", f"{waiting}, the oldest for {oldest // 1000} s", hint)]
    return [Finding("ok", "lag", f"{waiting}, for {oldest} ms at most")]


async def _bloat(talk: Session) -> list[Finding]:
    ((live, dead, size),) = await talk.rows("bloat")
    message = f"schedule_state has {live} live rows, {dead} dead rows and {size // 1024} kB"
    if dead > 10_000 + live:
        hint = "check that autovacuum runs and that no transaction stays open for long; then VACUUM schedule_state"
        return [Finding("warning", "bloat", message, hint)]
    return [Finding("ok", "bloat", message)]


async def _partitions(talk: Session) -> list[Finding]:
    ((now,),) = await talk.rows("now")
    there = {start for (start,) in await talk.rows("partitions")}
    strays = [hole for hole in _between(there) if (await talk.rows("strays", first=hole[0], last=hole[1]))[0][0]]
    missing = [start for start in weeks(now // 1000, 1) if start not in there]
    if missing or strays:
        weekly = f"no partition for {_counted(len(missing), 'week')} of the ledger"
        what = weekly if missing else "the default partition has rows"
        hint = "check that a worker runs, which creates partitions once an hour, or run `kron maintain`"
        return [Finding("warning", "partitions", what, hint)]
    return [Finding("ok", "partitions", f"the ledger has {len(there)} weekly partitions, this and next week included")]


def _between(starts: set[int]) -> list[tuple[int, int]]:
    """Return the intervals (seconds) for which the ledger has no partition."""
    firsts = [-_EVER, *(start + WEEK for start in sorted(starts))]
    lasts = [*sorted(starts), _EVER]
    return [(first, last) for first, last in zip(firsts, lasts, strict=True) if first < last]


async def _workers(talk: Session) -> list[Finding]:
    ((living, _, _),) = await talk.rows("served")
    if not living:
        hint = "start a worker: `kron worker URL`; for `python:` targets, start the application that declares them"
        return [Finding("warning", "workers", "no worker is alive", hint)]
    found = [Finding("ok", "workers", f"{living} alive")]
    for kind, count in await talk.rows("unlaunchable"):
        message = f"no living worker can launch {kind!r}, the target of {_counted(count, 'schedule')}"
        hint = "start a worker that can (for `python:`, the application): see docs/reference/targets.md"
        found.append(Finding("warning", "workers", message, hint))
    return found


async def _aside(talk: Session) -> list[Finding]:
    hint = "fix the cause or define the schedule again; Kron retries it every minute"
    return [
        Finding("error", "schedules", f"{identity!r} is set aside: {reason}", hint)
        for identity, reason in await talk.rows("aside")
    ]


async def _skew(store: PostgresStore, clock: Clock) -> Finding:
    before = clock.now()
    there = await store.now()
    skew = there - (before + clock.now()) * 500
    message = f"the database clock is {abs(skew):.0f} ms {'ahead of' if skew > 0 else 'behind'} this host's clock"
    if abs(skew) > SKEW:
        return Finding("warning", "skew", message, "synchronize both clocks with NTP; Kron uses the database clock")
    return Finding("ok", "skew", message)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
