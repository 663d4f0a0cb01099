"""The database fails over: `make failover`, and what of it can be tried without two machines."""

import asyncio

import pytest

from kron import KronError
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.connection import address
from kron.stores.postgres.migrate import migrate
from tests.campaigns.failover import __main__ as failover
from tests.campaigns.failover.pair import available
from tests.postgres import connect, running


def hosts(*servers, database):
    return f"postgresql://postgres@{','.join(f'127.0.0.1:{each.port}' for each in servers)}/{database}"


@pytest.mark.slow
def test_of_several_hosts_the_one_that_takes_writes_is_found_again(server):
    """The first of two is set to read only, as a standby is; then the second: the store follows."""
    with running({"fsync": "off"}) as other:
        name = server.database()
        other.sql(f"CREATE DATABASE {name}")
        asyncio.run(migrate(other.url(name)))

        async def script():
            store = PostgresStore(hosts(server, other, database=name))
            found = []
            for standby, leader in ((server, other), (other, server)):
                for each, on in ((standby, "on"), (leader, "off")):
                    each.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = {on}")
                    each.sql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", "postgres", name
                    )
                for _ in range(3):  # a line that is dead is noticed when it is used
                    try:
                        await store.lease("w", frozenset({"test"}), 1)
                    except KronError:
                        continue
                with connect(leader.url(name)) as connection:
                    found.append(connection.execute("SELECT count(*) FROM workers").fetchone()[0])
            await store.close()
            return found

        assert asyncio.run(script()) == [1, 1]
        server.drop(name)


def test_who_takes_writes_is_asked_for_unless_the_url_says_otherwise():
    assert "target_session_attrs=read-write" in address("postgresql://a,b/kron")
    assert "target_session_attrs=any" in address("postgresql://a,b/kron?target_session_attrs=any")


@pytest.mark.campaign
@pytest.mark.skipif(not available(), reason="needs patroni and etcd")
def test_a_leader_that_is_killed_takes_nothing_along():
    assert failover.main(["--only", "synchronous", "--kills", "1", "--schedules", "400"]) == 0
