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
from kron.timing.tzdata import host_version

MIN_VERSION = 150_000  # oldest supported PostgreSQL version
MAX_LAG_MS = 10_000  # milliseconds that a due schedule may wait
MAX_SKEW_MS = 1_000  # milliseconds of clock skew
_FAR_SECONDS = 1 << 60  # seconds: beyond every period


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
        findings = [_schema_finding([migration.name for migration in await migrate(url, dry=True)])]
    except KronError as error:
        return [Finding("error", "schema", error.message, error.hint)]
    if findings[0].level == "error":
        return findings
    read = store.pool.read
    for check in (_durability, _rights, _lag, _bloat, _partitions, _workers, _tz_databases, _set_aside):
        findings += await read(check)
    return [*findings, await _skew_finding(store, clock)]


def _schema_finding(missing: list[str]) -> Finding:
    if missing:
        return Finding("error", "schema", f"not migrated yet: {', '.join(missing)}", "run `kron migrate`")
    return Finding("ok", "schema", "all migrations have run")


async def _durability(session: Session) -> list[Finding]:
    ((version, fsync, pages, commit, special),) = await session.rows("durability")
    return list(
        _durability_findings(
            version, {"fsync": fsync, "full_page_writes": pages, "synchronous_commit": commit}, special
        )
    )


def _durability_findings(version: int, settings: dict[str, str], special: bool) -> Iterator[Finding]:
    if version < MIN_VERSION:
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


async def _rights(session: Session) -> list[Finding]:
    lacking = await session.rows("missing_privileges")
    if lacking:
        examples = ", ".join(f"{role}: {right}" for role, right in lacking[:3]) + (", ..." if lacking[3:] else "")
        hint = "run `kron migrate` as the owner: it grants what is missing, also to roles that were created later"
        return [Finding("error", "rights", f"{_counted(len(lacking), 'privilege')} missing ({examples})", hint)]
    return [Finding("ok", "rights", "kron_api, kron_worker and kron_auditor have their privileges, where they exist")]


async def _lag(session: Session) -> list[Finding]:
    ((count, oldest),) = await session.rows("lag")
    waiting = f"{_counted(count, 'due schedule')} waiting"
    if oldest > MAX_LAG_MS:
        hint = "check that workers run and can reach the database; add a worker if they are busy"
        return [Finding("error", "lag", f"{waiting}, the oldest for {oldest // 1000} s", hint)]
    return [Finding("ok", "lag", f"{waiting}, for {oldest} ms at most")]


async def _bloat(session: Session) -> list[Finding]:
    ((live, dead, size),) = await session.rows("bloat")
    message = f"schedule_state has {live} live rows, {dead} dead rows and {size // 1024} kB"
    if dead > 10_000 + live:
        hint = "check that autovacuum runs and that no transaction stays open for long; then VACUUM schedule_state"
        return [Finding("warning", "bloat", message, hint)]
    return [Finding("ok", "bloat", message)]


async def _partitions(session: Session) -> list[Finding]:
    ((now,),) = await session.rows("now")
    starts = {start for (start,) in await session.rows("partitions")}
    gaps_with_rows = [
        gap
        for gap in _intervals_between(starts)
        if (await session.rows("rows_in_interval", first=gap[0], last=gap[1]))[0][0]
    ]
    missing = [start for start in weeks(now // 1000, 1) if start not in starts]
    if missing or gaps_with_rows:
        weekly = f"no partition for {_counted(len(missing), 'week')} of the ledger"
        message = weekly if missing else "the default partition has rows"
        hint = "check that a worker runs, which creates partitions once an hour, or run `kron maintain`"
        return [Finding("warning", "partitions", message, hint)]
    return [Finding("ok", "partitions", f"the ledger has {len(starts)} weekly partitions, this and next week included")]


def _intervals_between(starts: set[int]) -> list[tuple[int, int]]:
    """Return the intervals (seconds) for which the ledger has no partition."""
    firsts = [-_FAR_SECONDS, *(start + WEEK for start in sorted(starts))]
    lasts = [*sorted(starts), _FAR_SECONDS]
    return [(first, last) for first, last in zip(firsts, lasts, strict=True) if first < last]


async def _workers(session: Session) -> list[Finding]:
    ((living, _, _),) = await session.rows("worker_counts")
    if not living:
        hint = "start a worker: `kron worker --store URL`; for `python:` targets, start the application with the jobs"
        return [Finding("warning", "workers", "no worker is alive", hint)]
    findings = [Finding("ok", "workers", f"{living} alive")]
    for kind, count in await session.rows("unlaunchable"):
        message = f"no living worker can launch {kind!r}, the target of {_counted(count, 'schedule')}"
        hint = "start a worker that can (for `python:`, the application): see docs/reference/targets.md"
        findings.append(Finding("warning", "workers", message, hint))
    return findings


async def _tz_databases(session: Session) -> list[Finding]:
    counts, here = dict(await session.rows("tz_versions")), host_version()
    versions = ", ".join(f"{version} ({_counted(count, 'worker')})" for version, count in counts.items())
    hint = "install the newest tz database on all hosts and restart the workers: see docs/how-to/update-tz-database.md"
    if len(counts) > 1:
        return [Finding("warning", "tz", f"workers have different tz databases: {versions}", hint)]
    if counts and here not in counts:
        return [Finding("warning", "tz", f"this host has tz database {here}, the workers have {versions}", hint)]
    return [Finding("ok", "tz", f"this host and all living workers have tz database {here}")] if counts else []


async def _set_aside(session: Session) -> list[Finding]:
    hint = "fix the cause or define the schedule again; Kron retries it every minute"
    return [
        Finding("error", "schedules", f"{identity!r} is set aside: {reason}", hint)
        for identity, reason in await session.rows("set_aside_schedules")
    ]


async def _skew_finding(store: PostgresStore, clock: Clock) -> Finding:
    before = clock.now()
    database_now = await store.now()
    skew = database_now - (before + clock.now()) * 500
    message = f"the database clock is {abs(skew):.0f} ms {'ahead of' if skew > 0 else 'behind'} this host's clock"
    if abs(skew) > MAX_SKEW_MS:
        return Finding("warning", "skew", message, "synchronize both clocks with NTP; Kron uses the database clock")
    return Finding("ok", "skew", message)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
