"""Names: looked up in threads of their own, once at a time, remembered for a while, and each within its share."""

import asyncio
import threading
import time

import pytest

from kron.launchers import resolver
from kron.launchers.resolver import MAX_LOOKUPS_PER_NAME, MAX_LOOKUPS_PER_PAYER, Resolver, registrable


class Names:
    """Name servers: names of `hang` are not answered before the test ends."""

    def __init__(self):
        self.asked, self.end = [], threading.Event()

    def __call__(self, host):
        self.asked.append(host)
        if "hang" in host:
            self.end.wait(20)
        if "none" in host:
            raise OSError("no such name")
        return ["127.0.0.1"]


@pytest.fixture
def servers():
    found = Names()
    yield found
    found.end.set()


def test_names_that_hang_do_not_hold_up_others(servers):
    """30 names of one owner that are never answered, and a name of another."""

    async def script():
        resolve = Resolver(servers, seconds=2)  # long enough for a busy machine to start a thread
        slow = [asyncio.create_task(resolve(f"x{n}.hang.test")) for n in range(30)]
        await asyncio.sleep(0.1)
        began = time.monotonic()
        assert await resolve("good.test") == ["127.0.0.1"]
        assert await asyncio.to_thread(lambda: "free") == "free"  # the loop's own threads have no part in it
        assert time.monotonic() - began < 1.6  # while the others still hang
        failed = await asyncio.gather(*slow, return_exceptions=True)
        assert {type(each) for each in failed} == {TimeoutError}
        assert len([host for host in servers.asked if "hang" in host]) == MAX_LOOKUPS_PER_NAME
        servers.end.set()

    asyncio.run(script())


def test_tenant_holds_at_most_its_share(servers):
    async def script():
        resolve = Resolver(servers, seconds=0.5)
        slow = [asyncio.create_task(resolve(f"hang.x{n}.test", "evil")) for n in range(40)]
        await asyncio.sleep(0.1)
        assert len(servers.asked) == MAX_LOOKUPS_PER_PAYER
        assert await resolve("good.test", "victim") == ["127.0.0.1"]
        await asyncio.gather(*slow, return_exceptions=True)
        servers.end.set()

    asyncio.run(script())


def test_lookup_that_has_not_ended_fails_at_once_and_is_not_repeated(servers):
    async def script():
        resolve = Resolver(servers, seconds=0.2)
        for limit in (0.5, 0.1):  # the first waits for its time, the second knows
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                await resolve("hang.test")
            assert time.monotonic() - began < limit
        assert servers.asked == ["hang.test"]
        servers.end.set()

    asyncio.run(script())


def test_name_is_looked_up_once_for_all_who_ask(servers):
    async def script():
        resolve = Resolver(servers)
        assert await asyncio.gather(*(resolve("Good.test") for _ in range(50))) == [["127.0.0.1"]] * 50
        assert await resolve("good.TEST") == ["127.0.0.1"]
        assert servers.asked == ["good.test"]
        assert (resolve.pending, resolve.names.gates) == ({}, {})

    asyncio.run(script())


@pytest.mark.parametrize(("host", "seconds"), [("good.test", "CACHE_SECONDS"), ("none.test", "NEGATIVE_CACHE_SECONDS")])
def test_answer_is_remembered_for_its_time(servers, monkeypatch, host, seconds):
    monkeypatch.setattr(resolver, seconds, 0.2)

    async def ask(resolve):
        if "none" in host:
            with pytest.raises(OSError, match="has no address"):
                await resolve(host)
        else:
            await resolve(host)

    async def script():
        resolve = Resolver(servers)
        await ask(resolve)
        await ask(resolve)
        assert len(servers.asked) == 1
        await asyncio.sleep(0.25)
        await ask(resolve)
        assert len(servers.asked) == 2

    asyncio.run(script())


def test_cache_is_bounded(servers, monkeypatch):
    monkeypatch.setattr(resolver, "MAX_CACHED_NAMES", 3)

    async def script():
        resolve = Resolver(servers)
        for n in range(6):
            await resolve(f"n{n}.test")
        assert list(resolve.cache) == ["n3.test", "n4.test", "n5.test"]

    asyncio.run(script())


def test_address_needs_no_lookup(servers):
    async def script():
        resolve = Resolver(servers)
        assert (await resolve("127.0.0.1"), await resolve("::1")) == (["127.0.0.1"], ["::1"])
        assert servers.asked == []

    asyncio.run(script())


def test_registrable_name_is_what_one_owner_has():
    assert registrable("a.b.example.com") == registrable("example.com.") == "example.com"
    assert registrable("x.shop.co.uk") == "shop.co.uk"
    assert registrable("localhost") == "localhost"
