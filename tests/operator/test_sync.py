"""Sync: KronJobs become schedules, and an edit never runs what was due before it."""

import asyncio
import json

import pytest

from kron.apps.operator.definition import job_of_kronjob
from kron.apps.operator.deletion_hold import DeletionHold
from kron.apps.operator.pauses import wanted_pause
from kron.apps.operator.sync import Sync, edit_ms
from kron.kube.kind import Place
from kron.rules.action import ActionKind
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.run_state import State
from kron.timing.zone import rfc3339
from tests.operator.making import CREATED, IDENTITY, PLACE, START, Ledger, a_kronjob


class Made(Ledger):
    """A ledger, a cluster of KronJobs, and the part that writes the schedules."""

    def __init__(self, *kronjobs, now=CREATED):
        super().__init__(now)
        self.kronjobs = {kronjob.place: kronjob for kronjob in kronjobs}
        self.sync = self.restarted()

    def restarted(self):
        return Sync(self.registrar, self.identities, self.kronjobs.get, self.told)

    async def have(self, kronjob):
        """Change a KronJob, and have it written."""
        self.kronjobs[kronjob.place] = kronjob
        await self.sync.define(kronjob.place)
        return await self.state()

    async def define_all(self):
        self.sync = self.restarted()
        await self.sync.define_all(list(self.kronjobs.values()))


def with_world(work, **options):
    """Run a test that is a coroutine."""
    return asyncio.run(work(Made(**options)))


def test_kronjob_becomes_a_schedule_that_says_who_changed_it():
    async def work(made):
        state = await made.have(a_kronjob(generation=7))
        (revision,) = await made.store.revisions(IDENTITY)
        return state, revision

    state, revision = with_world(work)
    assert state.job.target == "kronjob:shop/report"
    assert (revision.actor, revision.note) == ("kubectl", "generation 7")


def test_template_and_limits_make_no_revision():
    async def work(made):
        await made.have(a_kronjob())
        template = {"spec": {"template": {"spec": {"other": 1}}}}
        return await made.have(a_kronjob(generation=2, jobTemplate=template, failedJobsHistoryLimit=9))

    assert with_world(work).revision == 1


@pytest.mark.parametrize("at_start", [False, True])
def test_edit_that_is_read_late_counts_from_its_own_time(at_start):
    """Down from 10:00 to 10:10, edited at 10:05:05: the new calendar owes only what follows the edit."""

    async def work(made):
        await made.have(a_kronjob(schedule="30 10 * * *", policy={"deadline": "1h"}))
        made.clock.time = START + 600
        edited = a_kronjob(generation=2, at=START + 305, policy={"deadline": "1h"})
        made.kronjobs[PLACE] = edited
        await (made.define_all() if at_start else made.have(edited))
        plan = await made.planned(START + 600)
        return await made.state(), plan

    state, plan = with_world(work)
    assert state.revision == 2
    assert min(run.nominal for run in plan.new) == START + 360
    assert all(run.outcome is None or run.outcome is not Outcome.EXECUTED for run in plan.new)


def test_edit_of_unknown_time_counts_from_now():
    async def work(made):
        await made.have(a_kronjob(schedule="30 10 * * *"))
        made.clock.time = START + 600
        return await made.have(a_kronjob(generation=2, at=None))

    assert with_world(work).effective_from == (START + 600) * 1000


def test_edit_whose_time_is_that_of_an_older_change_counts_from_now():
    """Kubernetes 1.20 keeps the time of the creation if only values change."""

    async def work(made):
        await made.have(a_kronjob(at=CREATED, schedule="0 3 * * *"))
        made.clock.time = START + 605
        return await made.have(a_kronjob(at=CREATED, generation=2, schedule="* * * * *"))

    assert with_world(work).effective_from == (START + 605) * 1000


def test_time_of_an_edit_is_the_end_of_its_second():
    assert edit_ms(a_kronjob(at=START + 65)) == (START + 65) * 1000 + 999
    assert edit_ms(a_kronjob(at=START - 100)) == CREATED * 1000 + 999, "not before the creation"
    assert edit_ms(a_kronjob(at=None)) is None


def test_new_store_does_not_owe_what_the_status_tells():
    """The store was lost: the definition is old, and the periods up to the status' last one were handled."""

    async def work(made):
        status = {"lastPeriodID": rfc3339(START + 480)}
        made.kronjobs[PLACE] = a_kronjob(at=START, status=status, policy={"deadline": "1h", "concurrency": "allow"})
        await made.define_all()
        return await made.planned(START + 600)

    assert sorted(run.nominal for run in with_world(work, now=START + 600).new) == [START + 540, START + 600]


def test_end_of_a_suspension_runs_no_old_period():
    """The periods in it are one gap record, whatever their deadline is; a pause leaves them to it."""

    async def work(made):
        spec = {"deadline": "1h"}
        await made.have(a_kronjob(policy={**spec, "suspend": True}))
        made.clock.time = START + 605
        await made.have(a_kronjob(at=START + 605, generation=2, policy=spec))
        made.clock.time = START + 665
        await made.planned(START + 665)
        runs, gaps = await made.runs(), await made.store.gaps(IDENTITY)
        return [run.nominal for run in runs], [(gap.first, gap.last, str(gap.reason)) for gap in gaps]

    runs, gaps = with_world(work)
    assert runs == [START + 660]
    assert gaps == [(START + 60, START + 600, "suspended")]


def test_end_of_a_suspension_that_is_read_late_counts_from_its_own_time():
    async def work(made):
        spec = {"deadline": "1h"}
        await made.have(a_kronjob(policy={**spec, "suspend": True}))
        made.clock.time = START + 665
        await made.have(a_kronjob(at=START + 605, generation=2, policy=spec))
        await made.planned(START + 665)
        return [run.nominal for run in await made.runs()]

    assert with_world(work) == [START + 660]


def test_invalid_spec_stops_the_schedule_until_it_is_valid():
    async def work(made):
        await made.have(a_kronjob())
        paused = await made.have(a_kronjob(generation=2, schedule="61 * * * *"))
        await made.sync.define(PLACE)
        actions = await made.store.actions(IDENTITY)
        resumed = await made.have(a_kronjob(generation=3))
        return paused, actions, resumed, made

    paused, actions, resumed, made = with_world(work)
    assert paused.paused
    assert paused.revision == 1
    (action,) = actions
    assert (action.kind, action.actor) == (ActionKind.PAUSED, "operator")
    assert "61" in action.note
    assert not resumed.paused
    assert made.told.reasons == ["InvalidSpec", "ValidSpec"]
    assert made.sync.errors == {}


def test_invalid_spec_of_a_new_kronjob_makes_no_schedule():
    async def work(made):
        return await made.have(a_kronjob(schedule="nonsense")), made

    state, made = with_world(work)
    assert state is None
    assert PLACE in made.sync.errors


def test_pause_annotation_pauses_and_its_removal_resumes():
    note = json.dumps({"note": "migration", "who": "alice", "until": rfc3339(START + 3600)})

    async def work(made):
        await made.have(a_kronjob())
        paused = await made.have(a_kronjob(annotations={"pause": note}))
        await made.sync.define(PLACE)
        actions = await made.store.actions(IDENTITY)
        return paused, actions, await made.have(a_kronjob())

    paused, actions, resumed = with_world(work)
    assert (paused.paused, paused.paused_until) == (True, (START + 3600) * 1000)
    assert [(action.actor, action.note) for action in actions] == [("annotation:alice", "migration")]
    assert not resumed.paused


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", None),
        ("tests run", (Actor("annotation:", "tests run"), None)),
        ("[1]", (Actor("annotation:", "[1]"), None)),
        ('{"note": "n", "until": "soon"}', (Actor("annotation:", "n"), None)),
    ],
)
def test_pause_annotation_is_json_or_a_note(text, wanted):
    assert wanted_pause(text) == wanted


def test_pause_that_the_store_has_from_elsewhere_stays():
    async def work(made):
        await made.have(a_kronjob())
        await made.registrar.pause(IDENTITY, Actor("bob", "by hand"))
        return await made.have(a_kronjob(generation=2, schedule="*/5 * * * *"))

    state = with_world(work)
    assert state.paused
    assert state.revision == 2


def test_paused_kronjob_of_a_new_store_is_paused_before_it_is_planned():
    async def work(made):
        made.kronjobs[PLACE] = a_kronjob(annotations={"pause": "wait"})
        await made.define_all()
        return await made.state()

    assert with_world(work).paused


def test_run_annotation_gives_one_run():
    async def work(made):
        for generation in (1, 2):
            await made.have(a_kronjob(generation=generation, annotations={"run": "ticket-5"}))
        made.sync = made.restarted()
        await made.sync.define(PLACE)
        return await made.runs(), made.told

    (run,), told = with_world(work)
    assert run.trigger == "ticket-5"
    assert "Requested" in told.reasons


def test_run_annotation_of_a_reserved_name_is_refused():
    async def work(made):
        await made.have(a_kronjob(annotations={"run": "backfill:x"}))
        return await made.runs(), made.told

    runs, told = with_world(work)
    assert runs == []
    assert told.reasons == ["RequestRefused"]


def test_old_run_annotation_is_not_run():
    async def work(made):
        await made.have(a_kronjob(annotations={"run": "ticket-5"})._replace(requested_at=START - 3700))
        return await made.runs(), made.told

    runs, told = with_world(work)
    assert runs == []
    assert told.reasons == ["RequestExpired"]


def test_deleted_kronjob_leaves_its_history():
    async def work(made):
        await made.have(a_kronjob())
        await made.planned(START + 60)
        del made.kronjobs[PLACE]
        await made.sync.define(PLACE)
        return await made.state(), await made.runs()

    state, runs = with_world(work)
    assert state.deleted
    assert len(runs) == 1


def test_kronjob_that_is_being_deleted_counts_as_deleted():
    async def work(made):
        await made.have(a_kronjob())
        return await made.have(a_kronjob()._replace(is_deleting=True))

    assert with_world(work).deleted


@pytest.mark.parametrize("restarted", [False, True])
def test_kronjob_that_was_created_again_owes_nothing_of_its_absence(restarted):
    async def work(made):
        await made.have(a_kronjob(policy={"deadline": "1h", "concurrency": "allow"}))
        await made.planned(START + 60)
        made.clock.time = START + 600
        new = a_kronjob(uid="other", at=START + 600, policy={"deadline": "1h", "concurrency": "allow"})
        made.kronjobs[PLACE] = new._replace(created=START + 600)
        await (made.define_all() if restarted else made.sync.define(PLACE))
        await made.planned(START + 660)
        return await made.state(), await made.runs()

    state, runs = with_world(work)
    assert state.revision == 2
    assert {run.nominal for run in runs if run.state is State.LAUNCHING} == {START + 60, START + 660}
    gone = {run.reason for run in runs if START + 60 < run.nominal <= START + 600}
    assert gone == {Reason.DELETED}


def test_many_kronjobs_are_defined_at_once():
    kronjobs = [a_kronjob(f"k{number}") for number in range(603)]

    async def work(made):
        made.kronjobs.update({kronjob.place: kronjob for kronjob in kronjobs})
        await made.define_all()
        return len(await made.store.identities("", 5000))

    assert with_world(work) == 603


def test_schedules_without_a_kronjob_are_deleted_at_the_start():
    async def work(made):
        await made.have(a_kronjob())
        await made.have(a_kronjob("other"))
        await made.registrar.upsert(job_of_kronjob(Place("a/b", "c"), a_kronjob().spec, made.identities.defaults))
        del made.kronjobs[PLACE]
        made.sync = made.restarted()
        await made.sync.bury()
        assert made.sync.queue.depth == 1
        await made.sync.define(PLACE)
        return await made.store.identities("", 10)

    assert with_world(work) == ["a/b/c", "shop/other"]


def test_mass_deletion_is_held_and_can_be_undone():
    places = [Place("shop", f"k{number}") for number in range(6)]

    async def work(made):
        for place in places:
            await made.have(a_kronjob(place.name))
        gone = [made.kronjobs.pop(place) for place in places]
        made.sync.kronjobs_deleted(gone, by_list=True)
        for place in places:
            await made.sync.define(place)
        left = len(await made.store.identities("", 10))
        made.sync.kronjob_changed(None, gone[0])
        return left, made.sync.hold.holds(places[0]), made.sync.hold.holds(places[1]), made.told

    left, first, second, told = with_world(work)
    assert (left, first, second) == (6, False, True)
    assert told.reasons == ["Vanished"]


def test_deletions_that_a_watch_tells_are_not_held():
    async def work(made):
        places = [Place("shop", f"k{number}") for number in range(6)]
        made.sync.kronjobs_deleted([a_kronjob(place.name) for place in places], by_list=False)
        return made.sync.queue.depth, [made.sync.hold.holds(place) for place in places]

    depth, held = with_world(work)
    assert depth == 6
    assert not any(held)


def test_held_deletion_is_done_in_the_end():
    async def work():
        deleted, held = [], []
        hold = DeletionHold(lambda places, seconds: held.append(len(places)), deleted.append, seconds=0.01)
        places = [Place("shop", f"k{number}") for number in range(5)]
        hold.vanished(places, 5)
        assert deleted == []
        async with asyncio.timeout(30):
            while len(deleted) < 5:
                await asyncio.sleep(0.01)
        hold.vanished(places[:1], 1)
        return deleted, held, places

    deleted, held, places = asyncio.run(work())
    assert deleted == [*places, places[0]]
    assert held == [5]
