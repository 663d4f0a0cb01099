"""Questions about many schedules: the same answers in every store, and in PostgreSQL none that reads a whole table."""

import asyncio

import pytest

from kron.engine.overview import TROUBLE, OutcomeCount, TimeRange, merged_before
from kron.engine.registrar import Actor, Registrar
from kron.engine.tenant_scope import set_tenant_scope
from kron.rules.calendar_facts import CalendarFacts, RareDay, RareRun
from kron.rules.load import LoadHour, LoadKind
from kron.rules.outcome import Reason
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.statements import QUERIES
from kron.timing.schedule.policy import Overlap
from tests.stores.making import NOW, SECONDS, a_case, a_gap, a_job, a_run, define, now, say, write

DAY = 86_400
FIRST = SECONDS // 60 * 60


class Seen:
    """The overview of a store, whose methods return what they would give if they were awaited."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        method = getattr(self.store.store.overview, name)
        return lambda *args, **named: self.store.runner.run(method(*args, **named))


def counts(store, scope="", step=60, first=FIRST, last=FIRST + DAY):
    return Seen(store).outcomes(scope, first, last, step)


def allowed(identity, **more):
    return a_case(identity, overlap=Overlap.ALLOW, **more)


def test_every_end_is_counted_once_where_it_was_due(store):
    case = define(
        store, allowed("t/a"), a_run(State.STARTED, 1, identity="t/a"), a_run(State.SUCCESS, 2, identity="t/a")
    )
    (started,) = case.open_runs
    assert counts(store) == counts(store, "t/") == [OutcomeCount(FIRST + 120, State.SUCCESS, None, 1)]
    failed = started._replace(state=State.FAILED, reason=Reason.FAILED)
    assert say(store, started, failed)
    assert not say(store, started, failed)  # the second report of the same end
    skipped = a_run(State.SKIPPED, 3, identity="t/a", reason=Reason.OVERLAP)
    case = now(store, "t/a")
    assert write(store, case, skipped, gap=a_gap(5, 7, 3), cursor=SECONDS + 420)
    assert not write(store, case, skipped, gap=a_gap(5, 7, 3), cursor=SECONDS + 420)
    define(store, allowed("b"), a_run(State.LOST, 1, identity="b", reason=Reason.SILENT))
    of_tenant = [
        OutcomeCount(FIRST + 60, State.FAILED, Reason.FAILED, 1),
        OutcomeCount(FIRST + 120, State.SUCCESS, None, 1),
        OutcomeCount(FIRST + 180, State.SKIPPED, Reason.OVERLAP, 1),
        OutcomeCount(FIRST + 420, State.MISSED, Reason.REPLAY_BOUND, 3),
    ]
    assert counts(store, "t/") == of_tenant
    assert counts(store) == sorted([*of_tenant, OutcomeCount(FIRST + 60, State.LOST, Reason.SILENT, 1)])
    assert counts(store, "u/") == []
    assert [count for *_, count in counts(store, "t/", DAY)] == [1, 3, 1, 1]
    assert counts(store, "t/", first=FIRST + 180, last=FIRST + 420) == of_tenant[2:3]


def test_run_that_is_retried_is_counted_when_it_ends(store):
    (run,) = define(store, allowed("a"), a_run(State.STARTED, 1)).open_runs
    waiting = run._replace(state=State.WAITING, failures=1)
    assert say(store, run, waiting)
    assert counts(store) == []
    assert say(store, waiting, waiting._replace(state=State.FAILED, reason=Reason.FAILED))
    assert [count for *_, count in counts(store)] == [1]


def test_last_end_of_a_schedule_decides_in_which_list_it_is(store):
    names = ["t/a", "t/b", "u/c"]
    for name in names:
        define(store, allowed(name), a_run(State.FAILED, 1, identity=name))
    seen = Seen(store)
    assert seen.troubled_schedules("", State.FAILED, "", 9) == names
    assert seen.troubled_schedules("t/", State.FAILED, "t/a", 9) == ["t/b"]
    write(store, now(store, "t/a"), a_run(State.SUCCESS, 2, identity="t/a"))
    write(store, now(store, "t/b"), a_run(State.MISSED, 2, identity="t/b", reason=Reason.DEADLINE))
    assert seen.troubled_schedules("", State.FAILED, "", 9) == ["u/c"]
    assert seen.troubled_schedules("", State.MISSED, "", 9) == ["t/b"]
    write(store, now(store, "u/c"), deleted=True, next_check_at=None)
    assert seen.troubled_schedules("", State.FAILED, "", 9) == []


def test_runs_in_trouble_are_paged_by_their_ends(store):
    for n, state in enumerate([*sorted(TROUBLE), State.SUCCESS], 1):
        define(store, allowed(f"t/{n}"), a_run(state, 1, identity=f"t/{n}", changed=NOW + n * 1000))
    define(store, allowed("u/x"), a_run(State.FAILED, 1, identity="u/x", changed=NOW + 99_000))
    seen, pages, before = Seen(store), [], None
    while page := seen.troubled_runs("t/", TROUBLE, 3, before):
        pages.append([run.identity for run in page])
        before = page[-1].changed, page[-1].key
    assert pages == [["t/7", "t/6", "t/5"], ["t/4", "t/3", "t/2"], ["t/1"]]
    assert [run.identity for run in seen.troubled_runs("", {State.FAILED}, 9)] == ["u/x", "t/2"]


def test_newest_runs_of_some_schedules_are_one_list_in_pages(store):
    states = [State.SUCCESS, State.FAILED, State.STARTED, State.SKIPPED]
    for name in ("t/a", "t/b", "t/c"):
        define(store, allowed(name), *(a_run(states[n], n // 2, identity=name) for n in range(0, 4, 2)))
    requested = [a_run(State.SUCCESS, 1, identity="t/b", trigger=f"by hand {n}") for n in range(3)]
    write(store, now(store, "t/b"), *requested)
    seen, found, before = Seen(store), [], None
    while page := seen.latest_runs(["t/b", "t/a", "t/b", "no such"], 2, before):
        assert len(page) <= 2
        found += page
        before = page[-1].nominal, page[-1].key
    expected = [*store.runs("t/a", 9), *store.runs("t/b", 9)]
    assert found == sorted(expected, key=lambda run: (run.nominal, run.key), reverse=True)
    assert len(found) == 7
    assert seen.latest_runs([], 9) == []


def test_running_and_paused_and_next(store):
    for n in range(4):
        sent = NOW + (7 * n) % 4
        define(
            store,
            allowed(f"t/{n}", next_check_at=NOW - n * 1000, paused=n == 3),
            a_run(State.STARTED, 1, identity=f"t/{n}", sent=sent),
        )
    define(store, allowed("z", next_check_at=None, paused=True), a_run(State.LAUNCHING, 1, identity="z"))
    seen = Seen(store)
    assert [run.identity for run in seen.running("", 3)] == ["t/0", "t/3", "t/2"]
    assert seen.running("u/", 3) == []
    assert seen.paused("", "", 9) == ["t/3", "z"]
    assert seen.paused("t/", "", 9) == ["t/3"]
    assert seen.next_checks("", 9) == seen.next_checks("t/", 9) == ["t/3", "t/2", "t/1", "t/0"]
    assert seen.next_checks("t/", 9, NOW - 2_000) == ["t/3", "t/2"]
    assert seen.next_checks("", 1, NOW - 2_000) == ["t/3"]


def test_pauses_name_who_paused_and_why(store):
    registrar = Registrar(store.store)

    async def actions():
        for name in ("t/a", "t/b", "t/c", "u/d"):
            await registrar.upsert(a_job(name), Actor("ci"))
            await registrar.pause(name, Actor("ana", f"first of {name}"))
        await registrar.resume("t/a", Actor("ben"))
        await registrar.pause("t/a", Actor("mia", "once more"))
        await registrar.trigger("t/a", "a request is no pause")
        await registrar.resume("t/b")
        await registrar.delete("t/c")

    store.runner.run(actions())
    define(store, allowed("z", paused=True))  # no action tells of this pause
    seen = Seen(store)
    found = seen.pauses("", 9)
    assert list(found) == seen.paused("", "", 9) == ["t/a", "u/d", "z"]
    assert [(each.actor, each.note) for each in (found["t/a"], found["u/d"])] == [
        ("mia", "once more"),
        ("ana", "first of u/d"),
    ]
    assert found["z"] is None
    assert list(seen.pauses("t/", 9)) == ["t/a"] and list(seen.pauses("", 1)) == ["t/a"]


def test_bulk_changes_of_one_millisecond_are_paged_completely(store):
    names = [f"s{n:02}" for n in range(9)]
    for name in names:
        define(store, allowed(name))
    seen, found, before = Seen(store), [], None
    while page := seen.activity("", 2, before):
        found += [change.identity for change in page]
        before = page[-1].position
    assert found == names[::-1]


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_old_minutes_are_merged_and_count_the_same(request, name):
    store = request.getfixturevalue(name)
    past = -200 * 24 * 60  # minutes: PostgreSQL removes nothing that is younger than a day by its own clock
    runs = [a_run(State.SUCCESS, past + minute, identity="t/a") for minute in range(40)]
    define(store, allowed("t/a"), *runs)

    def counted(scope, step):
        return counts(store, scope, step, FIRST + past * 60, FIRST)

    before = counted("t/", 900)
    assert [each.periods for each in before] == [15, 15, 10]
    store.maintain(NOW, None)
    assert counted("t/", 900) == counted("", 900) == before
    assert len(counted("t/", 60)) == 3
    store.maintain(NOW, None)
    assert counted("t/", 900) == before
    again = a_run(State.SUCCESS, past + 3, identity="t/a", trigger="again")  # of a minute that was merged
    assert write(store, now(store, "t/a"), again)
    store.maintain(NOW, None)
    assert [each.periods for each in counted("t/", 900)] == [16, 15, 10]
    store.maintain(NOW, 100 * DAY * 1000)
    assert counted("t/", 900) == []


def hour_of(scope, hour, count, written=NOW):
    return LoadHour(scope, hour, (*[0] * 59, count), (LoadKind(f"{count} * * * *", count, count),), written)


def test_day_is_the_answers_to_three_questions(store):
    define(store, allowed("t/a"), a_run(State.FAILED, 1, identity="t/a"))
    Seen(store).write_load([hour_of("t/", 100, 3), hour_of("", 100, 9)])
    past, coming = TimeRange(FIRST, FIRST + DAY, 600), TimeRange(360_000, 363_600, 60)
    known = {scope: CalendarFacts((), (RareDay(1, 1, (RareRun(5, f"{scope}a"),)),), NOW) for scope in ("", "t/")}
    for scope, facts in known.items():
        store.runner.run(store.store.overview.calendar.write(scope, facts))
    for scope in ("", "t/"):
        outcomes, load, facts = Seen(store).day(scope, past, coming)
        assert outcomes == Seen(store).outcomes(scope, *past) and outcomes
        assert load == Seen(store).load(scope, *coming)
        assert sum(each.runs for each in load.intervals) > 0
        assert facts == known[scope]
    assert Seen(store).day("u/", past, coming).facts is None


def test_load_is_written_replaced_read_and_removed(store):
    seen, first = Seen(store), 100 * 3_600
    seen.write_load([])
    seen.write_load([hour_of("t/", 101, 3), hour_of("t/", 100, 1), hour_of("", 100, 9), hour_of("u/", 100, 5)])
    load = seen.load("t/", first, first + 7_200, 3_600)
    assert [(each.start, each.runs, each.busiest_at) for each in load.intervals] == [
        (first, 1, first + 3_540),
        (first + 3_600, 3, first + 7_140),
    ]
    assert [kind.text for kind in load.kinds] == ["3 * * * *", "1 * * * *"]
    assert seen.load("", first, first + 3_600, 3_600).intervals[0].runs == 9
    seen.write_load([hour_of("t/", 101, 4, NOW + 1)])
    assert seen.load("t/", first + 3_600, first + 7_200, 3_600).intervals[0].runs == 4
    assert seen.load("t/", first, first + 7_200, 3_600).written == NOW
    assert seen.remove_load(NOW + 1, 2) == 2
    assert seen.remove_load(NOW + 1, 2) == 1
    assert seen.remove_load(NOW + 1, 2) == 0
    assert [each.runs for each in seen.load("t/", first, first + 7_200, 3_600).intervals] == [0, 4]
    assert seen.load("x/", first, first + 60, 60).written is None


def test_merging_keeps_the_last_two_days():
    assert merged_before(NOW) * 60 <= SECONDS - 2 * DAY
    assert merged_before(NOW) % 15 == 0


def test_transactions_that_count_together_do_not_wait_for_each_other_in_a_circle(
    runner, postgres, database, clock, monkeypatch
):
    """Two connections with the same slot report ends of the same scopes, in opposite orders."""
    slow = b"0, CASE WHEN pg_sleep(0.001) IS NOT NULL THEN c.count END"  # row by row, so that both meet
    one_slot = QUERIES["count_outcomes"].replace(b"pg_backend_pid() %% 8, c.count", slow)
    assert one_slot != QUERIES["count_outcomes"]
    monkeypatch.setitem(QUERIES, "count_outcomes", one_slot)
    stores = [PostgresStore(database, clock, size=1) for _ in range(2)]
    scopes = [f"{n:02}" for n in range(40)]

    async def report(store, worker, round_number):
        names = [f"{scope}/{worker}-{round_number}" for scope in scopes][:: 1 - 2 * worker]
        runs = [a_run(State.STARTED, 1, identity=name) for name in names]
        assert all(await store.commit([ScheduleUpdate(None, allowed(run.identity), (run,)) for run in runs], NOW))
        states = [State.FAILED if int(run.identity[:2]) % 2 else State.SUCCESS for run in runs]
        ends = [RunUpdate(run, run._replace(state=state), None) for run, state in zip(runs, states, strict=True)]
        assert all(await store.update_runs(ends, NOW))

    async def both():
        for round_number in range(5):
            await asyncio.gather(*(report(store, worker, round_number) for worker, store in enumerate(stores)))
        total = await stores[0].overview.outcomes("", FIRST, FIRST + DAY, DAY)
        for store in stores:
            await store.close()
        return total

    assert [each.periods for each in runner.run(both())] == [5 * len(scopes)] * 2


@pytest.fixture
def plain(server, database, sql):
    """The same store for a role that row-level security restricts."""
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'plain'"):
        server.sql("CREATE ROLE plain LOGIN")
    sql("GRANT USAGE ON SCHEMA kron TO plain; GRANT ALL ON ALL TABLES IN SCHEMA kron TO plain")
    return PostgresStore(database.replace("postgres@", "plain@"))


def test_tenant_sees_its_own_counters_only(runner, plain, postgres):
    define(postgres, allowed("t/a"), a_run(State.FAILED, 1, identity="t/a"))
    define(postgres, allowed("u/b"), a_run(State.FAILED, 1, identity="u/b"))

    async def as_tenant(scope):
        set_tenant_scope("t/")
        seen = plain.overview
        return await seen.outcomes(scope, FIRST, FIRST + DAY, DAY), await seen.troubled_runs(scope, TROUBLE, 9)

    async def load_of_tenant(scope):
        set_tenant_scope("t/")
        return (await plain.overview.load(scope, 360_000, 363_600, 3_600)).kinds

    async def kinds(scope):
        return await asyncio.create_task(load_of_tenant(scope))

    async def separately(scope):
        return await asyncio.create_task(as_tenant(scope))

    mine, runs = runner.run(separately("t/"))
    assert [each.periods for each in mine] == [1]
    assert [run.identity for run in runs] == ["t/a"]
    assert runner.run(separately("u/")) == ([], [])
    Seen(postgres).write_load([hour_of(scope, 100, n) for n, scope in enumerate(("", "t/", "u/"), 1)])
    assert [kind.text for kind in runner.run(kinds("t/"))] == ["2 * * * *"]
    assert runner.run(kinds("u/")) == runner.run(kinds("")) == [], "the texts of others"
    runner.run(plain.close())


PLANS = {
    "outcome_counts": ({"first": FIRST, "last": FIRST + DAY, "step": 600}, {"outcome_minutes_pkey"}),
    "running": ({}, {"_tenant_id_sent_at_"}),
    "running_of_scope": ({}, {"_tenant_id_scope_sent_at_"}),
    "troubled_runs": ({"before": NOW, "key": b"x", "prefix": "t/"}, {"_tenant_id_kron_trouble_"}),
    "troubled_runs_of_scope": ({"before": NOW, "key": b"x", "prefix": "t/"}, {"_tenant_id_scope_kron_trouble_"}),
    "troubled_schedules": ({"last": "failed", "after": ""}, {"schedule_state_troubled"}),
    "paused_schedules": ({"after": ""}, {"schedule_state_paused"}),
    "pauses": ({}, {"schedule_state_paused", "schedule_actions_of_changes"}),
    "next_checks": ({"upto": NOW, "scanned": 50_000, "kinds": 9}, {"schedule_state_wake"}),
    "next_checks_of_scope": ({}, {"schedule_state_pkey"}),
    "recent_runs": ({"schedules": texts(["t/1", "t/2"])}, {"_pkey"}),
    "latest_runs": ({"schedules": texts(["t/1", "t/2"]), "before": NOW, "key": b"x"}, {"_pkey"}),
    "runs_between": ({"schedule": "t/001", "first": FIRST, "last": FIRST + DAY}, {"_pkey"}),
    "load_hours": ({"first": 1, "last": 200}, {"load_hours_pkey"}),
    "remove_load": ({"before": NOW}, {"load_hours"}),
    "recent_gaps": ({"schedules": texts(["t/1", "t/2"])}, {"schedule_gaps_pkey"}),
    "actions": ({"schedule": "t/001"}, {"schedule_actions_of_changes"}),
    "latest_actions": ({"before": NOW, "name": "", "number": 0}, {"schedule_actions_at"}),
    "latest_actions_of_scope": ({"before": NOW, "name": "", "number": 0}, {"schedule_actions_at_by_scope"}),
    "requests_at": (
        {"schedules": texts(["t/001"]), "times": numbers([NOW])},
        {"schedule_actions_at", "schedule_actions_of_requests"},
    ),
    "latest_revisions": ({"before": NOW, "name": "", "number": 0}, {"schedule_revisions_at"}),
    "latest_revisions_of_scope": ({"before": NOW, "name": "", "number": 0}, {"schedule_revisions_at_by_scope"}),
}


@pytest.mark.parametrize("known", [False, True], ids=["a table that has just grown", "a table that is known"])
def test_no_question_reads_a_whole_table_or_sorts_it(postgres, plain, sql, known):
    names = [f"{scope}/{n:03}" for scope in ("t", "u") for n in range(300)]
    states = [State.FAILED, State.STARTED, State.SUCCESS, State.SKIPPED]
    updates = [
        ScheduleUpdate(None, case, (a_run(states[n % 4], 1, identity=name),))
        for n, name in enumerate(names)
        for case in [allowed(name)]
    ]
    for part in range(0, len(updates), 100):  # not at once: a transaction has 5 s, also on a busy machine
        assert all(postgres.commit(updates[part : part + 100], NOW))
    if known:
        sql("ANALYZE")

    async def explained(talk):
        plans = {}
        for name, (values, _) in PLANS.items():
            given = {"tenant": "default", "scope": "t/", "limit": 25, "kinds": texts(["failed", "dead"]), **values}
            rows = await talk.connection.execute(b"EXPLAIN " + QUERIES[name], given)
            plans[name] = [line for (line,) in await rows.fetchall()]
        return plans

    def plans_of(store):
        return postgres.runner.run(store.pool.read(explained)).items()

    for name, plan in (*plans_of(postgres.store), *plans_of(plain)):
        scans = [line for line in plan if "Scan" in line and " on " in line and "Function Scan" not in line]
        tables = [line for line in scans if not any(part in line for part in ("CTE Scan", "WorkTable", "Subquery"))]
        assert tables, name
        for line in tables:
            assert any(index in line for index in PLANS[name][1]), f"{name}\n" + "\n".join(plan)
    postgres.runner.run(plain.close())
