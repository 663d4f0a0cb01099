"""Cluster: changes in the order of their importance, deletions with their source, and Jobs by their KronJob."""

import asyncio
import json

from kron.apps.operator.cluster import Cluster
from kron.apps.operator.definition import OperatorDefaults
from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import kronjob_of
from kron.engine.fleet import Share, shard_of
from kron.kube.kind import Place
from kron.kube.mirror import Entry
from tests.operator.making import PLACE, START, a_job, a_kronjob


class Heard:
    """Hears changes."""

    def __init__(self):
        self.heard = []

    def kronjob_changed(self, before, after):
        self.heard.append(("kronjob", after.uid))

    def kronjobs_deleted(self, kronjobs, *, by_list):
        self.heard.append(("kronjobs deleted", [kronjob.uid for kronjob in kronjobs], by_list))

    def job_changed(self, place, before, after):
        self.heard.append(("job", after.uid))

    def jobs_deleted(self, jobs, *, by_list):
        self.heard.append(("jobs deleted", len(jobs), by_list))

    def jobs_listed(self):
        self.heard.append(("listed",))


class Made:
    """A cluster whose mirrors the test moves."""

    def __init__(self, *namespaces):
        self.cluster = Cluster(None, namespaces)
        self.listener = self.cluster.listener = Heard()
        self.kronjobs = next(iter(self.cluster.kronjob_mirrors.values()))
        self.jobs = next(iter(self.cluster.job_mirrors.values()))

    def tell(self, mirror, place, value):
        mirror._tell(place, None if value is None else Entry(value.uid, str(id(value)), value))


def test_deletions_of_a_watch_and_of_a_list_are_told_apart():
    async def main():
        made = Made()
        for number in range(3):
            made.tell(made.kronjobs, Place("shop", f"k{number}"), a_kronjob(f"k{number}"))
        made.listener.heard.clear()
        made.tell(made.kronjobs, Place("shop", "k0"), None)
        await asyncio.sleep(0)
        made.tell(made.kronjobs, Place("shop", "k1"), None)
        made.tell(made.kronjobs, Place("shop", "k2"), None)
        made.kronjobs.listed()
        await asyncio.sleep(0)
        return made.listener.heard

    assert asyncio.run(main()) == [
        ("kronjobs deleted", ["uid-k0"], False),
        ("kronjobs deleted", ["uid-k1", "uid-k2"], True),
    ]


def test_jobs_are_found_by_their_kronjob():
    async def main():
        made, kronjob = Made(), a_kronjob()
        made.tell(made.kronjobs, PLACE, kronjob)
        place, record = a_job(START + 60)
        other_place, other = a_job(START + 120, kronjob=a_kronjob(uid="earlier"))
        made.tell(made.jobs, place, record)
        made.tell(made.jobs, other_place, other)
        found = [at for at, _ in made.cluster.jobs_of(kronjob)]
        everything = len(list(made.cluster.jobs()))
        made.tell(made.jobs, place, None)
        made.jobs.listed()
        return found, place, everything, list(made.cluster.jobs_of(kronjob)), made.listener.heard

    found, place, everything, left, heard = asyncio.run(main())
    assert found == [place]
    assert everything == 2
    assert left == []
    assert heard[-2:] == [("jobs deleted", 1, True), ("listed",)]


def test_wait_for_the_end_of_a_job():
    async def main():
        made = Made()
        place, record = a_job(START + 60)
        await made.cluster.gone(place, record.uid)  # it is not there
        made.tell(made.jobs, place, record)
        await made.cluster.gone(place, "another")
        waits = [asyncio.ensure_future(made.cluster.gone(place, record.uid)) for _ in range(2)]
        await asyncio.sleep(0)
        is_early = any(wait.done() for wait in waits)
        waits[0].cancel()
        made.tell(made.jobs, place, None)
        await waits[1]
        return is_early, made.cluster._waiting

    assert asyncio.run(main()) == (False, {})


def test_owner_is_a_kronjob_with_a_template_that_stays():
    made = Made("shop")
    assert made.cluster.owner(PLACE) is None
    made.tell(made.kronjobs, PLACE, a_kronjob())
    assert made.cluster.owner(PLACE).uid == "uid-report"
    assert made.cluster.kronjob(Place("elsewhere", "report")) is None
    made.tell(made.kronjobs, PLACE, a_kronjob()._replace(is_deleting=True))
    assert made.cluster.owner(PLACE) is None
    made.tell(made.kronjobs, PLACE, a_kronjob()._replace(spec_text=json.dumps({"schedule": "@daily"}).encode()))
    assert made.cluster.owner(PLACE) is None
    assert not made.cluster.is_complete


def test_kronjob_reads_what_old_and_broken_objects_have():
    body = {
        "metadata": {
            "name": "k",
            "creationTimestamp": "nonsense",
            "managedFields": [
                {"manager": "a", "time": "2026-03-01T10:00:00Z", "fieldsV1": {"f:spec": {}, "f:metadata": {}}},
                {"manager": "b", "time": "2026-03-01T11:00:00Z", "fieldsV1": {"f:spec": {}}, "subresource": "status"},
                {"manager": "c", "time": "2026-03-01T10:30:00Z", "fieldsV1": {"f:metadata": {}}},
                {"manager": "d"},
            ],
        },
        "status": {"lastPeriodID": "soon"},
    }
    kronjob = kronjob_of(body)
    assert (kronjob.edited_at, kronjob.editor, kronjob.requested_at) == (START, "a", START + 1800)
    assert (kronjob.created, kronjob.last_period, kronjob.owner) == (0, None, None)


def test_identities_belong_to_their_prefix_namespaces_and_shards():
    east = Identities(OperatorDefaults(identity_prefix="east/"), ("shop",))
    assert east.of(PLACE) == "east/shop/report"
    assert east.place("east/shop/report") == PLACE
    for other in ("shop/report", "west/shop/report", "east/billing/report", "east/shop", "east/shop/a/b", ""):
        assert east.place(other) is None
    mine = Identities(OperatorDefaults(), (), lambda: [Share(frozenset({shard_of("shop/report")}), frozenset())])
    assert mine.is_mine("shop/report")
    assert not all(mine.is_mine(f"shop/{number}") for number in range(100))
