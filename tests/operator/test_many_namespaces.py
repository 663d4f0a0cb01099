"""Many namespaces: their watches leave connections for requests, with and without a proxy."""

import pytest

from tests.operator.running import World, defaults, until

NAMESPACES = tuple(f"team-{number}" for number in range(60))  # two watches each, and httpx2 has 100 connections


@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "through a proxy"])
def test_60_namespaces_leave_connections_for_requests(server, tmp_path, monkeypatch, is_proxied):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if is_proxied:
        monkeypatch.setenv("http_proxy", server.url)  # it answers requests for itself
    world = World(server, tmp_path, namespaces=NAMESPACES, **defaults(600))
    world.kronjob(namespace=NAMESPACES[-1])

    async def use(life):
        await until(lambda: server.count("WATCH", "/kronjobs") + server.count("WATCH", "/jobs") == 120)
        await life.pass_time(60)
        await until(lambda: world.jobs)

    world.run(use)
    assert [namespace for namespace, _ in world.jobs] == [NAMESPACES[-1]]
