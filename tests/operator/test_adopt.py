"""Adoption: claims, runs and Jobs are compared, and each doubt ends in one record."""

import asyncio

import pytest

from kron.apps.operator.adopt import Adopter
from kron.apps.operator.definition import job_of_kronjob
from kron.apps.operator.follow import Follower
from kron.apps.operator.worker_settings import SHARED_LEASE_MS, settle_ms, worker_settings
from kron.engine.events import Event
from kron.engine.fleet import ALL_SHARDS, Share, shard_of
from kron.kube.names import job_of
from kron.rules.launch_result import LaunchResult, Report, answered
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.update import RunUpdate
from tests.operator.making import IDENTITY, PLACE, START, Ledger, a_job, a_kronjob
from tests.operator.specs import TEMPLATE

PERIOD = START + 60
SHARED_SETTLE_MS = settle_ms(worker_settings(is_alone=False), is_alone=False)


class Jobs:
    """The Jobs of a cluster, and an API server that counts the questions."""

    def __init__(self, *kronjobs):
        self.known, self.hidden, self.asked = {}, {}, 0
        self.all = {kronjob.place: kronjob for kronjob in kronjobs}

    def job(self, place):
        return self.known.get(place)

    def jobs(self):
        return iter(self.known.items())

    def kronjob(self, place):
        return self.all.get(place)

    async def get(self, kind, place):
        self.asked += 1
        return self.hidden.get(place)


class Made(Ledger):
    """A ledger, Jobs, and the part that compares them."""

    def __init__(self, **options):
        super().__init__()
        self.others_shard = False
        if "settle_ms" in options:
            self.identities = self.identities._replace(shares=self.shares)
        self.kronjob = a_kronjob(policy=options.pop("policy", {}))
        self.jobs = Jobs(self.kronjob)
        self.busy = set()
        self.adopter = Adopter(
            self.registrar, self.jobs, self.jobs, self.identities, self.told, busy=lambda: self.busy, **options
        )
        self.adopter.follower = Follower(self.jobs, self.registrar.reports, self.adopter.request)

    def shares(self):
        own = {shard_of(IDENTITY)}
        return (Share(ALL_SHARDS - own if self.others_shard else ALL_SHARDS, frozenset({"kronjob"})),)

    async def define(self):
        await self.registrar.upsert(job_of_kronjob(PLACE, self.kronjob.spec, self.identities.defaults))

    def has_job(self, nominal=PERIOD, end="", **more):
        place, record = a_job(nominal, end, kronjob=self.kronjob, **more)
        self.jobs.known[place] = record
        return place, record

    async def adopted(self):
        await self.adopter.adopt()
        return await self.runs()


def tried(work, **options):
    """Run a test that is a coroutine, on a ledger with a claim of a dead operator."""

    async def main():
        made = Made(**options)
        await made.define()
        await made.planned(PERIOD)
        result = await work(made)
        if made.adopter._again:
            made.adopter._again.cancel()
        return result

    return asyncio.run(main())


def test_claim_whose_job_is_there_is_executed():
    async def work(made):
        made.has_job()
        return await made.adopted(), made.jobs.asked, made.adopter.adopted

    (run,), asked, adopted = tried(work)
    assert (run.state, run.outcome) == (State.ENQUEUED, Outcome.EXECUTED)
    assert (asked, adopted) == (0, 1)


def test_claim_whose_job_has_ended_has_its_end():
    async def work(made):
        made.has_job(end="Failed")
        return await made.adopted()

    (run,) = tried(work)
    assert (run.state, run.reason) == (State.FAILED, Reason.FAILED)


def test_claim_without_a_job_goes_back_after_a_while():
    """A request of the dead operator may still be on its way; later, nothing was sent."""

    async def work(made):
        (early,) = await made.adopted()
        asked = made.jobs.asked
        waits = made.adopter._again is not None
        made.clock.advance(13)
        (late,) = await made.adopted()
        await made.planned(int(made.clock.now()))
        return early, asked, waits, late, (await made.runs())[0]

    early, asked, waits, late, last = tried(work)
    assert (early.state, asked, waits) == (State.LAUNCHING, 0, True)
    assert (late.state, late.maybe_delivered) == (State.RETRY, False)
    assert (last.outcome, last.reason) == (Outcome.MISSED, Reason.DEADLINE)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        (None, State.UNKNOWN),  # the KronJob is gone, and its Jobs with it
        ({"created": PERIOD + 1}, State.UNKNOWN),  # it was created again
        ({"ttl": 0}, State.UNKNOWN),  # the Job can have ended
        ({"ttl": 12}, State.UNKNOWN),
        ({"ttl": 13}, State.RETRY),
    ],
)
def test_claim_whose_job_can_have_been_deleted_is_unknown(changes, state):
    """A launch could run the period a second time."""

    async def work(made):
        made.clock.advance(12.5)
        if changes is None:
            made.jobs.all.clear()
        elif "ttl" in changes:
            template = {"spec": {**TEMPLATE["spec"], "ttlSecondsAfterFinished": changes["ttl"]}}
            made.jobs.all[PLACE] = a_kronjob(jobTemplate=template)
        else:
            made.jobs.all[PLACE] = made.kronjob._replace(**changes)
        return await made.adopted()

    (run,) = tried(work)
    assert run.state is state
    assert run.outcome is (Outcome.EXECUTED if state is State.UNKNOWN else None)


def test_claim_whose_job_only_the_database_has_is_executed():
    async def work(made):
        made.clock.advance(13)
        (run,) = await made.runs()
        place, _ = a_job(PERIOD, kronjob=made.kronjob)
        made.jobs.hidden[place] = job_of(made.kronjob.owner, run)
        return await made.adopted()

    (run,) = tried(work)
    assert run.state is State.ENQUEUED


def test_claim_without_a_job_stays_while_its_worker_may_send_it():
    async def work(made):
        made.clock.advance(30)
        return await made.adopted(), made.jobs.asked

    (run,), asked = tried(work, settle_ms=SHARED_SETTLE_MS)
    assert (run.state, asked) == (State.LAUNCHING, 0)


def test_claim_of_a_dead_replica_goes_back_before_its_lease_ends():
    """The replica that has the shard asks for the Job by its name once, and the run is not in doubt."""

    async def work(made):
        made.clock.advance(SHARED_SETTLE_MS / 1000)
        (late,) = await made.adopted()
        return late, made.jobs.asked, made.clock.now() - PERIOD

    late, asked, seconds = tried(work, settle_ms=SHARED_SETTLE_MS)
    assert (late.state, late.maybe_delivered, asked) == (State.RETRY, False, 1)
    assert seconds * 1000 < SHARED_LEASE_MS - 5_000, "there is time left for the comparison"


def test_claim_in_the_shard_of_another_replica_is_left_to_it():
    async def work(made):
        made.others_shard = True
        made.adopter.receive(Event("pass", 0))
        made.clock.advance(35)
        left, asked = await made.adopted(), made.jobs.asked
        made.others_shard = False
        made.adopter.receive(Event("pass", 0))
        assert made.adopter._wanted.is_set(), "other shards ask for a comparison"
        return left, asked, await made.adopted()

    (left,), asked, (taken,) = tried(work, settle_ms=SHARED_SETTLE_MS)
    assert (left.state, asked, taken.state) == (State.LAUNCHING, 0, State.RETRY)


def test_released_claim_that_was_recorded_meanwhile_stays():
    """The worker that has made the claim lives, and records its Job while another one asks for it."""

    async def work(made):
        made.clock.advance(35)
        (run,) = await made.runs()
        asked = made.jobs.get

        async def get(kind, place):
            now = await made.store.now()
            after = answered(run, LaunchResult.OK, (await made.state()).policy, now)
            assert await made.store.update_runs([RunUpdate(run, after, None)], now) == [True]
            return await asked(kind, place)

        made.jobs.get = get
        return await made.adopted()

    (run,) = tried(work, settle_ms=SHARED_SETTLE_MS)
    assert (run.state, run.outcome) == (State.ENQUEUED, Outcome.EXECUTED)


def test_comparison_is_as_early_as_the_first_one_asks():
    async def work(made):
        made.adopter._look_again(60_000)
        late = made.adopter._again.when()
        made.adopter._look_again(1_000)
        early = made.adopter._again.when()
        made.adopter._look_again(30_000)
        return late, early, made.adopter._again.when()

    late, early, last = tried(work)
    assert early < late
    assert last == early


def test_claim_that_is_being_launched_now_is_left_alone():
    async def work(made):
        (run,) = await made.runs()
        made.busy.add(run.key)
        made.clock.advance(13)
        return await made.adopted()

    (run,) = tried(work)
    assert run.state is State.LAUNCHING


def test_running_job_renews_its_run():
    async def work(made):
        made.has_job()
        (before,) = await made.adopted()
        (again,) = await made.adopted()
        made.clock.advance(700)
        (after,) = await made.adopted()
        return before, again, after

    before, again, after = tried(work)
    assert again == before, "its lease is long enough"
    assert after.state is State.STARTED
    assert after.lease == before.lease + 700_000


def test_run_without_a_job_is_lost():
    async def work(made):
        place, _ = made.has_job()
        await made.adopted()
        del made.jobs.known[place]
        return await made.adopted(), made.jobs.asked

    (run,), asked = tried(work)
    assert (run.state, run.outcome) == (State.LOST, Outcome.EXECUTED)
    assert asked == 1


def test_run_whose_job_the_mirror_has_not_seen_yet_goes_on():
    async def work(made):
        place, _ = made.has_job()
        await made.adopted()
        (run,) = await made.runs()
        del made.jobs.known[place]
        made.jobs.hidden[place] = job_of(made.kronjob.owner, run)
        return await made.adopted()

    (run,) = tried(work)
    assert run.state is State.ENQUEUED


def test_new_store_learns_of_the_jobs_that_are_there():
    """The running one holds `forbid`, the ended one has its end, and both count once."""

    async def main():
        made = Made()
        made.clock.time = PERIOD + 70
        await made.define()
        made.has_job(PERIOD)
        made.has_job(START, "Complete")
        first = await made.adopted()
        await made.adopted()
        await made.planned(PERIOD + 120)
        return first, await made.runs(), made.told

    first, runs, told = asyncio.run(main())
    assert [(run.nominal, run.state) for run in first] == [(PERIOD, State.STARTED), (START, State.SUCCESS)]
    assert [(run.nominal, run.reason) for run in runs][:1] == [(PERIOD + 120, Reason.OVERLAP)]
    assert len(runs) == 3
    assert told.reasons == ["Adopted", "Adopted"]


def test_new_store_enters_the_jobs_of_many_kronjobs_together():
    async def main():
        made, commits = Made(), []
        kronjobs = [a_kronjob(f"report-{number}") for number in range(30)]
        made.jobs.all = {kronjob.place: kronjob for kronjob in kronjobs}
        for kronjob in kronjobs:
            await made.registrar.upsert(job_of_kronjob(kronjob.place, kronjob.spec, made.identities.defaults))
            for nominal in (START, PERIOD):
                place, record = a_job(nominal, "Complete", kronjob=kronjob)
                made.jobs.known[place] = record
        commit = made.store.commit

        async def counted(updates, now):
            commits.append(len(updates))
            return await commit(updates, now)

        made.store.commit = counted
        await made.adopted()
        found = [len(await made.runs(f"shop/{kronjob.place.name}")) for kronjob in kronjobs]
        return commits, found, made.adopter.adopted

    commits, found, adopted = asyncio.run(main())
    assert commits == [30, 30]
    assert (found, adopted) == ([2] * 30, 60)


def test_jobs_of_others_are_not_adopted():
    async def main():
        made = Made()
        await made.define()
        place, record = made.has_job()
        for change in (
            record._replace(mark=record.mark._replace(owner_uid="another")),
            record._replace(nominal=PERIOD + 60),
            record._replace(kronjob="unknown"),
        ):
            made.jobs.known[place] = change
            assert await made.adopted() == []

    asyncio.run(main())


def test_requested_run_is_adopted_with_its_request():
    async def main():
        made = Made()
        await made.define()
        made.has_job(trigger="ticket-5")
        return await made.adopted()

    (run,) = asyncio.run(main())
    assert (run.trigger, run.state) == ("ticket-5", State.STARTED)


def test_unknown_job_asks_for_a_comparison():
    async def main():
        made = Made()
        await made.define()
        _, record = made.has_job(end="Complete")
        task = asyncio.ensure_future(made.adopter.run())
        await made.adopter.follower.report_end(record)
        async with asyncio.timeout(30):
            while not await made.runs():
                await asyncio.sleep(0.01)
        task.cancel()
        (run,) = await made.store.runs(IDENTITY, 10)
        return run, record

    run, record = asyncio.run(main())
    assert record.end is Report.SUCCESS
    assert run.state is State.SUCCESS
