"""The store in memory is a product because it is like the others: the same steps, compared after each.

`make campaigns` runs more of the same.
"""

import asyncio
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kron import KronError, parse
from kron.engine.clock import ManualClock
from kron.engine.load_pass import LoadPass
from kron.engine.overview import TROUBLE
from kron.engine.registrar import Actor, Registrar
from kron.rules.attempt import launched_attempt
from kron.rules.counters import failed_end
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report, answered
from kron.rules.pause import pause_expired_update
from kron.rules.plan import plan
from kron.rules.update import RunUpdate, update_of
from kron.stores.memory import MemoryStore
from kron.stores.postgres import PostgresStore
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.schedule.policy import DECLARATIVE, KRON, SECOND, SERVICE, AfterEnd, Catchup, Completion, Overlap
from tests.engine.world import Still
from tests.stores.making import ALL, KINDS, SECONDS, Handle, a_folder, view

NAMES = ("a", "b", "c:1", "t/d")
SMALL = {"catchup_limit": 3, "queue_limit": 2, "run_lease": 100 * SECOND, "launch_backoff": 5 * SECOND}
FOLLOWED = replace(SERVICE, completion=Completion.REPORTED)
POLICIES = [
    replace(preset, overlap=overlap, **SMALL) for preset in (KRON, SERVICE, DECLARATIVE) for overlap in Overlap
] + [
    replace(SERVICE, catchup=catchup, jitter=jitter, **SMALL)
    for catchup in Catchup
    for jitter in (0, 90 * SECOND)
] + [
    replace(FOLLOWED, overlap=overlap, max_runs=max_runs, pause_on_failure=failures, **SMALL)
    for overlap in Overlap
    for max_runs, failures in ((3, None), (None, 2), (5, 1))
] + [
    replace(FOLLOWED, overlap=overlap, max_runs=2, after_end=AfterEnd.DELETE, **SMALL) for overlap in Overlap
]  # fmt: skip
SCHEDULES = [
    *(parse(text, dialect="kron") for text in ("* * * * *", "*/5 * * * *", "*/2 * * * * @win(around,10m)")),
    parse("* * * * * @win(after,7m) @only(hours=8-9)", dialect="kron"),
    parse("*/20 * * * * *", dialect="service"),
]
PASSING = [0.001, 1, 7, 31, 61, 200, 3_700]

names = st.sampled_from(NAMES)
owners = st.sampled_from(["w1", "w2"])
numbers = st.integers(0, 1 << 30)


class Likeness(RuleBasedStateMachine):
    """Two stores, told the same, must always show the same."""

    def __init__(self):
        super().__init__()
        self.clock = ManualClock(float(SECONDS))
        self.runner = asyncio.Runner()
        self.stores = [Handle(self.runner, store) for store in (MemoryStore(self.clock), self.other())]
        self.read = []  # every case that was ever seen
        self.claims = []  # every attempt that was ever claimed, with its policy
        self.keys = []

    def other(self):
        """The store that is to be like the one in memory."""
        self.folder = a_folder()
        return SqliteStore(self.folder / "kron.db", self.clock)

    def teardown(self):
        self.stores[1].close()
        self.runner.close()
        shutil.rmtree(self.folder)

    def both(self, question):
        """What both stores answer: the same, or the same refusal."""
        first, second = (self.one(question, store) for store in self.stores)
        assert first == second
        return first

    def one(self, question, store):
        try:
            return question(store)
        except KronError as error:
            return error.code, error.message

    def ask(self, method, *args):
        """What both registrars answer."""
        return self.both(lambda store: self.runner.run(getattr(Registrar(store.store), method)(*args)))

    def now(self):
        return int(self.clock.now() * 1000)

    @rule(seconds=st.sampled_from(PASSING))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule(name=names, schedule=st.sampled_from(SCHEDULES), policy=st.sampled_from(POLICIES), ends=st.booleans())
    def upsert(self, name, schedule, policy, ends):
        end = self.now() // 1000 + 600 if ends else None
        self.ask("upsert", Job(name, replace(schedule, policy=policy), target="test:it", end=end))

    @rule(name=names, verb=st.sampled_from(["pause", "resume", "delete", "get", "preview"]))
    def command(self, name, verb):
        self.ask(verb, name)

    @rule(name=names, seconds=st.sampled_from([-5, 0, 1, 60, 600, None]), who=st.sampled_from(["", "ann"]))
    def pause(self, name, seconds, who):
        until = None if seconds is None else self.now() + seconds * 1000

        async def pause(store):
            return await Registrar(store.store).pause(name, Actor(who, "for a reason" if who else ""), until=until)

        self.both(lambda store: self.runner.run(pause(store)))

    @rule()
    def awaken(self):
        """End every pause that is over, whoever saw it last."""
        over = [case for case in self.read if case.pause_expired(self.now())]
        self.both(lambda store: store.commit([pause_expired_update(case) for case in over], self.now()))

    @rule(
        after=st.sampled_from(["", "a", "b"]),
        prefix=st.sampled_from(["", "a", "c:", "d"]),
        paused=st.sampled_from([None, True, False]),
        deleted=st.booleans(),
    )
    def page(self, after, prefix, paused, deleted):
        self.both(lambda store: store.identities(after, 2, prefix, paused, deleted))

    @precondition(lambda self: self.keys)
    @rule(name=names, nth=numbers)
    def page_of_runs(self, name, nth):
        self.both(lambda store: store.runs(name, 3, self.keys[nth % len(self.keys)]))

    @rule(back=st.sampled_from([1, 20, 4_000]))
    def clock_is_set_back(self, back):
        self.clock.advance(-back)

    @rule(name=names, request=st.sampled_from(["x", "y"]))
    def trigger(self, name, request):
        self.ask("trigger", name, request)

    @rule(name=names, back=st.integers(0, 600), request=st.sampled_from(["x", "y"]))
    def backfill(self, name, back, request):
        last = self.now() // 1000
        self.ask("backfill", name, last - back, last, request)

    @rule(owner=owners)
    def lease(self, owner):
        self.both(lambda store: store.lease(owner, KINDS, 15_000))

    @rule(limit=st.integers(1, 3))
    def look(self, limit):
        self.read += self.both(lambda store: store.fetch_due(ALL, self.now(), limit))

    @precondition(lambda self: self.read)
    @rule(nth=numbers, fresh=st.booleans(), owner=owners, skew=st.sampled_from([0, 0, -30_000, 30_000]))
    def settle(self, nth, fresh, owner, skew):
        """Carry out a plan for something that was seen: just now, or long ago; by a clock that may be off."""
        case = self.read[-1] if fresh else self.read[nth % len(self.read)]
        made = plan(case, self.now() + skew, owner=owner, lease=30_000)
        (held,) = self.both(lambda store: store.commit([update_of(made)], self.now()))
        self.keys += [run.key for run in made.new]
        if held:
            self.claims += [(run, case.policy) for run in made.launches]

    @precondition(lambda self: self.keys)
    @rule(prefix=st.sampled_from(["", "a", "c:", "d"]), nth=numbers, first=st.booleans())
    def dead_letters(self, prefix, nth, first):
        before = "" if first else self.keys[nth % len(self.keys)]
        for letter in self.both(lambda store: store.dead_letters(prefix, 2, before)):
            self.ask("redrive", letter.key)

    @precondition(lambda self: self.claims)
    @rule(
        nth=numbers,
        fresh=st.booleans(),
        answer=st.sampled_from(LaunchResult),
        next_check_at=st.sampled_from([None, 0, 5_000]),
        run_id=st.sampled_from(["", "r1", "r2"]),
    )
    def answer(self, nth, fresh, answer, next_check_at, run_id):
        """An answer for any claim that was ever made, however stale."""
        run, policy = self.claims[-1] if fresh else self.claims[nth % len(self.claims)]
        after = answered(run, answer, policy, self.now())
        at = None if next_check_at is None else self.now() + next_check_at
        response = LaunchResponse(answer, code=503, excerpt=f"for {run.attempt}")
        attempt = launched_attempt(run, response, run.sent, self.now() - run.sent)
        failed = None if at is None else failed_end(after, policy)
        update = RunUpdate(run, after, at, run_id, attempt, failed)
        self.both(lambda store: store.update_runs([update], self.now()))
        self.both(lambda store: store.run_ids([run.key, "0" * 64, "no key"]))

    @precondition(lambda self: self.keys)
    @rule(nth=numbers, fresh=st.booleans(), report=st.sampled_from(Report))
    def report(self, nth, fresh, report):
        self.ask("report", self.keys[-1] if fresh else self.keys[nth % len(self.keys)], report)

    @rule(seconds=st.sampled_from([0, 3_600, 86_400]))
    def count_load(self, seconds):
        """A round of the load pass, and what is then seen; also by a round at another time."""
        self.clock.advance(seconds)
        hour = self.now() // 3_600_000 * 3_600

        async def count(store):
            await LoadPass(store.store, Still(), "w1").once()
            seen = store.store.overview
            facts = [await seen.calendar.read(scope) for scope in ("", "t/")]
            return facts, [await seen.load(scope, hour, hour + 9 * 86_400, 7_200) for scope in ("", "t/")]

        self.both(lambda store: self.runner.run(count(store)))

    @rule(scope=st.sampled_from(["", "t/"]), limit=st.integers(1, 4), state=st.sampled_from(sorted(TROUBLE)))
    def look_over_many(self, scope, limit, state):
        first = self.now() // 86_400_000 * 86_400

        async def overview(store):
            seen = store.store.overview
            troubled = await seen.troubled_runs(scope, TROUBLE, limit)
            changes = await seen.activity(scope, limit)
            return (
                await seen.outcomes(scope, first - 86_400, first + 2 * 86_400, 600),
                await seen.running(scope, limit),
                troubled,
                troubled and await seen.troubled_runs(scope, {state}, limit, (troubled[-1].changed, troubled[-1].key)),
                await seen.troubled_schedules(scope, state, "", limit),
                await seen.paused(scope, "", limit),
                list((await seen.pauses(scope, limit)).items()),
                await seen.next_checks(scope, limit),
                await seen.next_checks(scope, limit, self.now()),
                await seen.recent(NAMES, limit),
                [await seen.runs_between(name, first, first + 86_400, limit) for name in NAMES],
                [(*change[:3], change.change) for change in changes],
                changes and [change.change for change in await seen.activity(scope, limit, changes[-1].position)],
                await seen.requests([(change.identity, change.at) for change in changes]),
                await seen.workers(),
            )

        self.both(lambda store: self.runner.run(overview(store)))

    @invariant()
    def the_same_is_seen(self):
        self.both(lambda store: view(store, *NAMES))


class PostgresLikeness(Likeness):
    """The same for PostgreSQL, with a server of its own."""

    server = None

    def other(self):
        self.database = self.server.database()
        return PostgresStore(self.server.url(self.database), self.clock, size=1)

    def teardown(self):
        self.stores[1].close()
        self.runner.close()
        self.server.drop(self.database)


def steps(examples):
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("examples", [25, pytest.param(1_000, marks=pytest.mark.campaign)])
def test_sqlite_is_like_memory(examples):
    run_state_machine_as_test(Likeness, settings=steps(examples))


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=pytest.mark.campaign)])
def test_postgres_is_like_memory(server, monkeypatch, examples):
    monkeypatch.setattr(PostgresLikeness, "server", server)
    run_state_machine_as_test(PostgresLikeness, settings=steps(examples))
