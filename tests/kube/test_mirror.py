"""The copy of a cluster's objects: it ends equal to the cluster, and every change is told once, whatever breaks."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.kube import mirror as module
from kron.kube.kind import KRONJOB, Place
from kron.kube.mirror import Mirror
from tests.kube.conftest import connected
from tests.kube.server import FakeServer, Fault

PLACE = Place("shop", "a")


class Copy:
    """Follows what a mirror tells, and so has a copy of the copy."""

    def __init__(self):
        self.told, self.entries, self.lists = [], {}, 0

    def __call__(self, place, before, after):
        assert self.entries.get(place) == before, "a change was left out"
        assert before or after
        self.told.append((place.name, "+" if not before else "-" if not after else "~"))
        if after:
            self.entries[place] = after
        else:
            del self.entries[place]

    def listed(self):
        self.lists += 1


class Clock:
    """Time that tests set. Waiting takes none of it, but is noted."""

    def __init__(self):
        self.now, self.waits = 0.0, []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.waits.append(seconds)
        await asyncio.sleep(0.001)


@asynccontextmanager
async def mirroring(server, **options):
    copy, clock = Copy(), Clock()
    async with connected(server.url) as api:
        mirror = Mirror(
            api,
            KRONJOB,
            lambda body: body.get("spec"),
            copy,
            listed=copy.listed,
            sleep=clock.sleep,
            clock=clock,
            **options,
        )
        task = asyncio.create_task(mirror.run())
        try:
            yield mirror, copy, clock
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(condition, seconds=10):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)


async def following(server, mirror):
    """Wait until the mirror has listed and watches."""
    await mirror.synced.wait()
    await until(lambda: server.count("WATCH", "kronjobs"))


def versions(server):
    return {Place(*place): body["metadata"]["resourceVersion"] for place, body in server.of("kronjobs").items()}


def equal(server, mirror):
    return {place: entry.version for place, entry in mirror.entries.items()} == versions(server)


def run(server, use, **options):
    async def main():
        async with mirroring(server, **options) as (mirror, copy, clock):
            await use(mirror, copy, clock)
            assert copy.entries == mirror.entries
            return copy

    return asyncio.run(main())


def test_mirror_lists_then_follows_changes(server):
    server.put("kronjobs", "shop", "a", {"spec": 1})

    async def use(mirror, copy, clock):
        assert not mirror.synced.is_set()
        await following(server, mirror)
        server.put("kronjobs", "shop", "b", {"spec": 2})
        server.put("kronjobs", "shop", "a", {"spec": 3})
        server.remove("kronjobs", "shop", "b")
        await until(lambda: len(copy.told) == 4)
        assert mirror.entries[PLACE].value == 3

    assert run(server, use).told == [("a", "+"), ("b", "+"), ("a", "~"), ("b", "-")]
    assert server.count("LIST", "kronjobs") == 1


def test_broken_watch_resumes_without_a_list(server):
    async def use(mirror, copy, clock):
        await following(server, mirror)
        for number in range(5):
            server.cut_watches()
            server.put("kronjobs", "shop", f"k{number}")
            await until(lambda: equal(server, mirror))

    assert len(run(server, use).told) == 5
    assert server.count("LIST", "kronjobs") == 1
    starts = [int(query["resourceVersion"]) for method, _, query in server.requests if method == "WATCH"]
    assert starts == sorted(starts)
    assert starts[-1] > starts[0]


def test_bookmark_moves_the_version_without_a_change(server):
    async def use(mirror, copy, clock):
        await following(server, mirror)
        for _ in range(3):
            server.put("jobs", "shop", "of another kind")
        await until(lambda: mirror._version == str(server.version))
        server.compact()
        server.cut_watches()
        await until(lambda: server.count("WATCH", "kronjobs") == 2)

    assert run(server, use).told == []
    assert server.count("LIST", "kronjobs") == 1


def test_deletion_that_no_watch_told_is_found_by_the_next_list(server):
    for name in "abc":
        server.put("kronjobs", "shop", name)

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.fail("WATCH", "kronjobs", Fault(503), Fault(503))
        server.cut_watches()
        await until(lambda: mirror.breaks)
        server.remove("kronjobs", "shop", "b")
        server.compact()
        await until(lambda: equal(server, mirror))

    copy = run(server, use)
    assert copy.told == [("a", "+"), ("b", "+"), ("c", "+"), ("b", "-")]
    assert copy.lists == 2


def test_recreation_between_lists_is_told_as_two_changes(server):
    server.put("kronjobs", "shop", "a", uid="u-1")

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.fail("WATCH", "kronjobs", Fault(503), Fault(503))
        server.cut_watches()
        await until(lambda: mirror.breaks)
        server.remove("kronjobs", "shop", "a")
        server.put("kronjobs", "shop", "a", uid="u-2")
        server.compact()
        await until(lambda: equal(server, mirror))

    assert run(server, use).told == [("a", "+"), ("a", "-"), ("a", "+")]


def test_incomplete_list_tells_nothing(server):
    server.page_size = 2
    for number in range(5):
        server.put("kronjobs", "shop", f"k{number}")
    server.fail("LIST", "kronjobs", *[None] * 2, *[Fault(500)] * 99)

    async def use(mirror, copy, clock):
        await until(lambda: mirror.breaks)
        assert not copy.told
        server.faults.clear()
        await following(server, mirror)
        assert equal(server, mirror)

    assert len(run(server, use).told) == 5


def test_resync_lists_again_not_older_than_the_copy(server):
    server.put("kronjobs", "shop", "a")

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.put("kronjobs", "shop", "b")
        await until(lambda: equal(server, mirror))
        version = mirror._version
        clock.now += module.RESYNC_SECONDS
        server.cut_watches()
        await until(lambda: mirror.lists == 2)
        lists = [query for method, _, query in server.requests if method == "LIST"]
        assert lists[-1] == {"limit": "500", "resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}

    assert run(server, use).told == [("a", "+"), ("b", "+")]


@pytest.mark.parametrize("seconds", [0, module.RESYNC_SECONDS])
def test_server_restored_from_a_backup_is_listed_again(server, seconds):
    """Also if the mirror has not seen it down: a watch from a version that it has not reached would tell nothing."""
    for name in "abc":
        server.put("kronjobs", "shop", name)

    async def use(mirror, copy, clock):
        await following(server, mirror)
        with server.lock:
            server.version = 2
            server.log = [entry for entry in server.log if entry[0] <= 2]
            for key in [key for key in server.objects if key[2] != "a"]:
                del server.objects[key]
        clock.now += seconds
        server.cut_watches()
        await until(lambda: equal(server, mirror))

    assert run(server, use).told[3:] == [("b", "-"), ("c", "-")]


def test_restored_server_that_has_reached_the_version_is_listed_soon(server):
    """By other changes: then no answer tells that its database was restored."""
    for name in "abc":
        server.put("kronjobs", "shop", name)

    async def use(mirror, copy, clock):
        await following(server, mirror)
        with server.lock:
            server.version += 5
            server.log.clear()
            del server.objects["kronjobs", "shop", "c"]
        server.cut_watches()
        await until(lambda: server.count("WATCH", "kronjobs") == 2)
        (*_, query) = [query for method, _, query in server.requests if method == "WATCH"]
        assert int(query["timeoutSeconds"]) <= module.CUT_RESYNC_SECONDS
        clock.now += module.CUT_RESYNC_SECONDS
        server.put("kronjobs", "shop", "d")
        server.cut_watches()
        await until(lambda: equal(server, mirror))

    assert ("c", "-") in run(server, use).told


def test_delay_doubles_to_its_maximum_and_starts_again(server):
    server.fail("LIST", "kronjobs", *[Fault(500)] * 8)

    async def use(mirror, copy, clock):
        await following(server, mirror)
        assert clock.waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
        server.put("kronjobs", "shop", "a")
        await until(lambda: copy.told)
        server.cut_watches()
        await until(lambda: len(clock.waits) > 8)
        assert clock.waits[8] == 0.1

    run(server, use)


def test_delay_grows_while_lists_succeed_and_watches_fail(server):
    server.fail("WATCH", "kronjobs", *[Fault(410)] * 4)

    async def use(mirror, copy, clock):
        await until(lambda: len(clock.waits) == 4)
        assert clock.waits == [0.1, 0.2, 0.4, 0.8]

    run(server, use)


def test_delay_is_at_least_what_the_server_asks(server):
    server.fail("LIST", "kronjobs", Fault(429, retry_after="3"))

    async def use(mirror, copy, clock):
        await following(server, mirror)
        assert clock.waits == [3.0]
        assert mirror.failure is None

    run(server, use)


def test_watch_that_ends_at_once_is_a_failure(server):
    server.watch_cut_at = 0

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.put("kronjobs", "shop", "a")
        await until(lambda: len(clock.waits) >= 4)
        assert clock.waits[:4] == [0.1, 0.2, 0.4, 0.8]
        assert server.count("LIST", "kronjobs") == 1

    run(server, use)


def test_watch_that_the_server_ends_at_once_is_a_failure(server):
    server.max_watch_seconds = 0

    async def use(mirror, copy, clock):
        await until(lambda: len(clock.waits) >= 3)
        assert clock.waits[:3] == [0.1, 0.2, 0.4]

    run(server, use)


def test_server_that_was_down_is_listed_again(server):
    server.put("kronjobs", "shop", "a")

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.close()
        await until(lambda: mirror.breaks > 1)
        server.start()
        await until(lambda: mirror.lists == 2)

    assert run(server, use).told == [("a", "+")]


def test_namespace_and_selector_restrict_the_copy(server):
    server.put("kronjobs", "shop", "a", labels={"x": "1"})
    server.put("kronjobs", "shop", "b")
    server.put("kronjobs", "other", "c", labels={"x": "1"})

    async def use(mirror, copy, clock):
        await following(server, mirror)
        server.put("kronjobs", "other", "d", labels={"x": "1"})
        server.put("kronjobs", "shop", "e", labels={"x": "1"})
        await until(lambda: len(copy.told) == 2)

    assert run(server, use, namespace="shop", selector="x").told == [("a", "+"), ("e", "+")]


NAMES = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("cut"), st.just("")),
    st.tuples(st.just("compact"), st.just("")),
    st.tuples(st.just("bytes"), st.sampled_from(["7", "150", "333"])),
    st.tuples(st.just("fault"), st.sampled_from(["LIST 410", "LIST 500", "WATCH 410", "WATCH 503", "WATCH 403"])),
    st.tuples(st.just("wait"), st.just("")),
)


async def take(server, step, word):
    place = ("kronjobs", "shop", word)
    if step == "put":
        server.put(*place)
    elif step == "remove" and place in server.objects:
        server.remove(*place)
    elif step == "cut":
        server.cut_watches()
    elif step == "compact":
        server.compact()
    elif step == "bytes":
        server.watch_cut_at = int(word)
        server.cut_watches()
    elif step == "fault":
        method, status = word.split()
        server.fail(method, "kronjobs", Fault(int(status)))
    elif step == "wait":
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("page_size", [1, 500])
@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_any_interleaving_ends_in_the_state_of_the_cluster(page_size, steps):
    server = FakeServer(page_size)

    async def use(mirror, copy, clock):
        for step, word in steps:
            await take(server, step, word)
        server.watch_cut_at = None
        server.cut_watches()
        await mirror.synced.wait()
        await until(lambda: equal(server, mirror))

    try:
        run(server, use)
    finally:
        server.close()
