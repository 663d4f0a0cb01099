"""Rate limit: the important requests first, slower when the server asks for it, and back to full speed."""

import asyncio
from contextlib import suppress

import pytest

from kron.kube import paced_api
from kron.kube import throttle as throttle_module
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import JOB, Place
from kron.kube.paced_api import PacedApi
from kron.kube.throttle import MAX_YIELD_SECONDS, Priority, Throttle
from tests.kube.conftest import connected
from tests.kube.server import Fault

PLACE = Place("shop", "report")


class Clock:
    """Seconds that the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_burst_passes_at_once_and_the_rest_by_priority():
    async def main():
        clock, sent = Clock(), []
        throttle = Throttle(10.0, 2, clock)

        async def ask(priority, number):
            await throttle.turn(priority)
            sent.append((priority, number))

        tasks = [asyncio.ensure_future(ask(Priority.STATUS, number)) for number in range(2)]
        await asyncio.sleep(0)
        for priority in (Priority.HISTORY, Priority.STATUS, Priority.START):
            tasks += [asyncio.ensure_future(ask(priority, number)) for number in (1, 2)]
        await asyncio.sleep(0)
        first, depth = len(sent), throttle.depth
        clock.now += 10
        throttle.burst = 10
        throttle._fill()
        throttle._serve()
        await asyncio.gather(*tasks)
        return first, depth, sent[2:], throttle.waited

    first, depth, rest, waited = asyncio.run(main())
    assert (first, depth) == (2, 6)
    assert rest == [(priority, number) for priority in (0, 2, 4) for number in (1, 2)]
    assert waited == pytest.approx(60.0)


def asked_while_a_job_is_created(priority):
    """How long a request waits if the creation of a Job takes 0.2 s, and if it takes for ever."""

    async def main():
        throttle, loop = Throttle(1000.0, 1000), asyncio.get_running_loop()
        seconds = []
        for ends in (True, False):
            began = loop.time()
            with throttle.starting(), throttle.starting():
                asked = asyncio.ensure_future(throttle.turn(priority))
                await asyncio.wait([asked], timeout=0.2 if ends else None)
            await asked
            seconds.append(loop.time() - began)
        return seconds

    return asyncio.run(main())


def test_status_waits_until_jobs_are_created_but_not_for_long():
    short, long = asked_while_a_job_is_created(Priority.STATUS)
    assert short >= 0.2
    assert MAX_YIELD_SECONDS <= long < MAX_YIELD_SECONDS + 5


def test_replacement_does_not_wait_until_other_jobs_are_created():
    assert max(asked_while_a_job_is_created(Priority.REPLACE)) < 0.2


def test_request_of_the_launcher_makes_statuses_wait(server, monkeypatch):
    monkeypatch.setattr(throttle_module, "MAX_YIELD_SECONDS", 0.3)
    server.fail("POST", "jobs", Fault(cut="hold"))

    async def main():
        async with connected(server.url) as api:
            throttle, loop = Throttle(1000.0, 1000), asyncio.get_running_loop()
            launcher, writer = (PacedApi(api, throttle, each) for each in (Priority.START, Priority.STATUS))
            start = asyncio.ensure_future(launcher.create(JOB, "shop", {"metadata": {"name": "report"}}))
            await asyncio.sleep(0)
            began = loop.time()
            await writer.get(JOB, PLACE)
            waited = loop.time() - began
            server.released.set()
            with suppress(NoAnswer):
                await start
            return waited, throttle.waited, throttle._starts

    waited, told, left = asyncio.run(main())
    assert waited >= 0.3
    assert told >= 0.3, "the metric counts this wait"
    assert left == 0


def test_request_that_is_canceled_takes_no_turn():
    async def main():
        clock = Clock()
        throttle = Throttle(1.0, 1, clock)
        await throttle.turn(Priority.START)
        first, second = (asyncio.ensure_future(throttle.turn(Priority.START)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        clock.now += 1
        throttle._serve()
        await second
        return throttle._tokens

    assert asyncio.run(main()) == pytest.approx(0.0)


def test_rate_is_halved_at_most_once_a_second_and_grows_again():
    clock = Clock()
    throttle = Throttle(200.0, 400, clock)
    rates = []
    for _ in range(3):
        throttle.slow_down()
        rates.append(throttle.rate)
    clock.now += 1
    throttle.slow_down()
    rates.append(throttle.rate)
    for _ in range(20):
        clock.now += 1
        throttle.speed_up()
        rates.append(throttle.rate)
    assert rates[:5] == [100.0, 100.0, 100.0, 50.0, 60.0]
    assert rates[-1] == 200.0


def test_rate_never_falls_to_nothing():
    clock = Clock()
    throttle = Throttle(2.0, 1, clock)
    for _ in range(10):
        clock.now += 1
        throttle.slow_down()
    assert throttle.rate == 1.0


def test_answers_are_counted_and_a_busy_server_is_asked_less(server):
    server.fail("GET", "jobs", Fault(429), Fault(403), Fault(cut="before"))

    async def main():
        async with connected(server.url) as api:
            throttle = Throttle(100.0, 100, Clock())
            paced = PacedApi(api, throttle, Priority.STATUS)
            for _ in range(3):
                with pytest.raises((Refusal, NoAnswer)):
                    await paced.get(JOB, PLACE)
            assert await paced.get(JOB, PLACE) is None
            await paced.create(JOB, "shop", {"metadata": {"name": "report"}})
            return throttle

    throttle = asyncio.run(main())
    assert throttle.rate == 50.0
    assert throttle.requests == {("GET", 429): 1, ("GET", 403): 1, ("GET", 0): 1, ("GET", 404): 1, ("POST", 200): 1}


def test_launch_that_waits_too_long_was_certainly_not_sent(server, monkeypatch):
    monkeypatch.setattr(paced_api, "MAX_WAIT_SECONDS", 0.01)

    async def main():
        async with connected(server.url) as api:
            throttle = Throttle(0.001, 1, Clock())
            await throttle.turn(Priority.START)
            with pytest.raises(NoAnswer) as caught:
                await PacedApi(api, throttle, Priority.START).get(JOB, PLACE)
            return caught.value.may_have_arrived

    assert asyncio.run(main()) is False
    assert server.requests == []
