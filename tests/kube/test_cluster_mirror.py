"""The mirror on a real API server: it is equal to the cluster after restarts, compactions and a restored database."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from kron.kube.kind import KRONJOB
from kron.kube.mirror import CUT_RESYNC_SECONDS, Mirror
from tests.kube.cluster.objects import kronjob
from tests.kube.conftest import reached
from tests.kube.test_mirror import Copy, until

pytestmark = pytest.mark.slow
SECONDS = 60  # of a wait; a busy machine is slow


class Follower:
    """A mirror of a namespace, which can be interrupted."""

    def __init__(self, api, namespace):
        self.copy = Copy()
        self.mirror = Mirror(api, KRONJOB, lambda body: body["spec"], self.copy, namespace=namespace)
        self.task = None

    def start(self):
        self.task = asyncio.create_task(self.mirror.run())

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def names(self, *names):
        """Wait until the copy has these objects."""
        await until(lambda: {place.name for place in self.mirror.entries} == set(names), SECONDS + CUT_RESYNC_SECONDS)
        assert self.copy.entries == self.mirror.entries


@asynccontextmanager
async def following(cluster, namespace):
    async with reached(cluster) as api:
        follower = Follower(api, namespace)
        follower.start()
        await asyncio.wait_for(follower.mirror.synced.wait(), SECONDS)
        yield follower
        await follower.stop()


def put(cluster, namespace, name):
    return cluster.do("POST", KRONJOB.path(namespace), kronjob(name))


def remove(cluster, namespace, name):
    cluster.do("DELETE", KRONJOB.path(namespace, name))


def test_mirror_lists_then_follows_changes(cluster, namespace):
    async def main():
        async with following(cluster, namespace) as follower:
            put(cluster, namespace, "b")
            await follower.names("a", "b")
            path = KRONJOB.path(namespace, "a")
            change = {"spec": {"schedule": "0 4 * * *"}}
            cluster.do("PATCH", path, change, content_type="application/merge-patch+json")
            remove(cluster, namespace, "b")
            await follower.names("a")
            return follower.copy.told

    put(cluster, namespace, "a")
    assert asyncio.run(main()) == [("a", "+"), ("b", "+"), ("a", "~"), ("b", "-")]


def test_mirror_follows_across_kills_of_the_server(cluster, namespace):
    """The same objects are not told again, whether the server is killed or stopped."""

    async def main():
        async with following(cluster, namespace) as follower:
            await asyncio.to_thread(cluster.restart_api_server)
            put(cluster, namespace, "b")
            await follower.names("a", "b")
            remove(cluster, namespace, "a")
            await follower.names("b")
            return follower.copy.told

    put(cluster, namespace, "a")
    assert asyncio.run(main()) == [("a", "+"), ("b", "+"), ("a", "-")]


def test_deletion_before_a_compacted_version_is_told(cluster, namespace):
    """No watch can tell it: the versions after that of the copy are gone from the database and from all caches."""

    async def main():
        async with following(cluster, namespace) as follower:
            await follower.names("a", "b", "c")
            await follower.stop()
            remove(cluster, namespace, "b")
            first = put(cluster, namespace, "d")
            remove(cluster, namespace, "c")
            put(cluster, namespace, "c")
            cluster.compact()
            await asyncio.to_thread(cluster.restart_api_server)
            lists = follower.mirror.lists
            follower.start()
            await follower.names("a", "c", "d")
            assert follower.mirror.lists > lists
            assert int(follower.mirror._version) >= int(first["metadata"]["resourceVersion"])
            return follower.copy.told[3:]

    for name in "abc":
        put(cluster, namespace, name)
    assert sorted(asyncio.run(main())) == [("b", "-"), ("c", "+"), ("c", "-"), ("d", "+")]


@pytest.mark.campaign
@pytest.mark.parametrize("is_seen", [True, False])
def test_mirror_of_a_restored_database_is_that_of_the_backup(cluster, namespace, is_seen):
    """Also if the mirror has not seen that the server was down."""

    async def main():
        async with following(cluster, namespace) as follower:
            backup = cluster.database_of_now()
            await asyncio.to_thread(backup.__enter__)
            await asyncio.to_thread(lambda: [put(cluster, namespace, name) for name in ("later", "last")])
            remove(cluster, namespace, "a")
            await follower.names("later", "last")
            if is_seen:
                await asyncio.to_thread(backup.__exit__, None, None, None)
            else:
                backup.__exit__(None, None, None)  # the mirror does nothing meanwhile
            await follower.names("a")
            put(cluster, namespace, "new")
            await follower.names("a", "new")

    put(cluster, namespace, "a")
    asyncio.run(main())
