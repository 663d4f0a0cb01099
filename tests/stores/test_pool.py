"""Connections of the PostgreSQL store: none stays open after the store was closed."""

import asyncio
import gc

from kron.stores.postgres.pool import Pool


def test_connection_that_is_in_use_when_the_pool_is_closed_is_closed_after_its_work(runner, database):
    async def use_and_close():
        pool, used, go_on = Pool(database, "kron"), [], asyncio.Event()

        async def work(session):
            used.append(session.connection)
            await go_on.wait()

        reading = asyncio.create_task(pool.read(work))
        while not used:
            await asyncio.sleep(0.01)
        await pool.close()
        go_on.set()
        await reading
        return used[0].closed, pool.idle

    assert runner.run(use_and_close()) == (True, [])


def test_idle_connections_can_be_closed_and_the_pool_goes_on(runner, database):
    async def use_twice():
        pool, used = Pool(database, "kron"), []

        async def work(session):
            used.append(session.connection)

        for _ in range(2):
            await pool.read(work)
            await pool.close_idle()
        await pool.read(work)
        kept = pool.idle[:]
        await pool.close()
        return [connection.closed for connection in used], kept == used[2:]

    assert runner.run(use_twice()) == ([True, True, True], True)


def test_work_that_is_canceled_twice_leaves_no_error_that_nobody_handles(runner, database):
    async def cancel_twice():
        pool, unhandled, started = Pool(database, "kron"), [], asyncio.Event()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unhandled.append(context["message"]))

        async def work(session):
            started.set()
            await session.connection.execute("SELECT pg_sleep(20)")

        reading = asyncio.create_task(pool.read(work))
        await started.wait()
        await asyncio.sleep(0.2)
        for _ in range(2):  # a limit of time, and a client that goes away
            reading.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({reading})
        del reading
        await asyncio.sleep(0.5)
        gc.collect()
        await asyncio.sleep(0)
        idle = pool.idle[:]
        await pool.close()
        return unhandled, idle

    assert runner.run(cancel_twice()) == ([], [])
