"""History: the oldest Jobs beyond the limits go, and never one whose end is not recorded."""

import asyncio

import pytest

from kron.apps.operator.definition import job_of_kronjob
from kron.apps.operator.history import History
from kron.engine.events import Event
from kron.kube.failure import Refusal
from kron.kube.kind import Place
from kron.rules.launch_result import Report
from kron.timing.zone import rfc3339
from tests.operator.making import CREATED, IDENTITY, PLACE, START, Ledger, a_job, a_kronjob


class Cluster:
    """One KronJob, its Jobs, and an API server that deletes them."""

    def __init__(self, kronjob):
        self.only, self.known, self.deleted, self.failure = kronjob, {}, [], None

    def kronjob(self, place):
        return self.only

    def jobs_of(self, kronjob):
        return iter(self.known.items())

    async def delete(self, kind, place, *, uid):
        if self.failure:
            raise self.failure
        assert self.known.pop(place).uid == uid
        self.deleted.append(place)


class Made(Ledger):
    """A ledger with ended runs, and their Jobs."""

    def __init__(self, **spec):
        super().__init__()
        told = spec.pop("told", START + 3600)
        status = {"lastPeriodID": rfc3339(told)} if told else {}
        self.kronjob = a_kronjob(policy={"concurrency": "allow"}, status=status, **spec)
        self.cluster = Cluster(self.kronjob)
        self.history = History(self.cluster, self.store, self.cluster, self.identities, interval=0.0)

    async def has(self, ends, *, recorded=True):
        """Give the KronJob Jobs that have ended: `s` and `f`, one each minute; `.` is one that runs."""
        await self.registrar.upsert(job_of_kronjob(PLACE, self.kronjob.spec, self.identities.defaults))
        for number, end in enumerate(ends, 1):
            (run,) = (await self.planned(START + 60 * number)).new
            place, record = a_job(run.nominal, {"s": "Complete", "f": "Failed", ".": ""}[end], kronjob=self.kronjob)
            self.cluster.known[place] = record
            if recorded and record.end:
                await self.registrar.report(run.key, record.end)

    def left(self):
        """The minutes of the Jobs that are left."""
        return sorted((record.nominal - START) // 60 for record in self.cluster.known.values())


def trimmed(ends, **spec):
    async def main():
        made = Made(**spec)
        await made.has(ends)
        await made.history.trim(PLACE)
        return made.left()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("ends", "spec", "left"),
    [
        ("sssss", {}, [3, 4, 5]),
        ("fffsf", {}, [4, 5]),
        ("s.s.", {"successfulJobsHistoryLimit": 0}, [2, 4]),
        ("ffss", {"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 0}, [4]),
        ("ff", {"failedJobsHistoryLimit": 5}, [1, 2]),
        ("sssss", {"successfulJobsHistoryLimit": None}, [3, 4, 5]),
        ("", {}, []),
    ],
)
def test_oldest_jobs_beyond_the_limits_are_deleted(ends, spec, left):
    assert trimmed(ends, **spec) == left


def test_unrecorded_end_keeps_its_job():
    async def main():
        made = Made(successfulJobsHistoryLimit=0)
        await made.has("s", recorded=False)
        await made.history.trim(PLACE)
        before = made.left()
        for record in list(made.cluster.known.values()):
            await made.registrar.report(record.mark.key, Report.SUCCESS)
        await made.history.trim(PLACE)
        return before, made.left()

    assert asyncio.run(main()) == ([1], [])


@pytest.mark.parametrize(("told", "left"), [(None, [1, 2, 3]), (START + 120, [3]), (START + 180, [])])
def test_job_stays_until_the_status_tells_its_period(told, left):
    """If the store is lost then, its successor knows of the period from the Job, else from the status."""
    assert trimmed("sss", successfulJobsHistoryLimit=0, told=told) == left


def test_new_status_asks_for_a_look():
    async def main():
        made = Made()
        made.history.kronjob_changed(made.kronjob, made.kronjob._replace(editor="someone"))
        idle = made.history.queue.is_idle
        made.history.kronjob_changed(made.kronjob, made.kronjob._replace(status_text=b"{}"))
        return idle, made.history.queue.is_idle

    assert asyncio.run(main()) == (True, False)


def test_job_that_the_store_does_not_know_stays():
    async def main():
        made = Made(successfulJobsHistoryLimit=0)
        place, record = a_job(CREATED + 55, "Complete", kronjob=made.kronjob)
        made.cluster.known[place] = record
        await made.history.trim(PLACE)
        return made.left()

    assert len(asyncio.run(main())) == 1


@pytest.mark.parametrize(("status", "raises"), [(409, False), (403, True)])
def test_job_that_was_replaced_meanwhile_is_left_alone(status, raises):
    async def main():
        made = Made(successfulJobsHistoryLimit=0)
        await made.has("s")
        made.cluster.failure = Refusal(status, {})
        try:
            await made.history.trim(PLACE)
        except Refusal:
            return True
        return False

    assert asyncio.run(main()) is raises


def test_end_of_a_run_and_a_new_limit_begin_a_look():
    async def main():
        made = Made()
        made.history.receive(Event("run_finished", 0, {"identity": IDENTITY}))
        made.history.receive(Event("pass", 0, {}))
        first = made.history.queue.depth
        other = a_kronjob("other")
        made.history.kronjob_changed(other, other._replace(status_text=b"{}"))
        made.history.kronjob_changed(other, a_kronjob("other", failedJobsHistoryLimit=0))
        return first, made.history.queue.depth

    assert asyncio.run(main()) == (1, 2)


def test_kronjob_that_is_gone_needs_no_history():
    async def main():
        made = Made()
        made.cluster.only = None
        await made.history.trim(Place("shop", "gone"))

    asyncio.run(main())
