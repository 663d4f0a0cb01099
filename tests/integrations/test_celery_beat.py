"""Real beat processes on real brokers: they share the work, hand over, and survive kills and outages."""

import asyncio
import os
import subprocess
import sys
import time

import pytest

from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.docs.page import ROOT
from tests.integrations import celery_kills
from tests.integrations.beats import SCHEDULER, Beat, Consumer, registered, wait_for
from tests.integrations.brokers import broker

ENTRIES = {f"entry{number}": 1 for number in range(8)}
HAND_OVER = 9.0  # seconds: the lease of a beat that does not hand over ends 10 to 15 s after its last renewal
CLAIM_LEASE = 30.0  # seconds after which another beat publishes what a killed one had claimed
SLACK = 10.0

pytestmark = pytest.mark.slow


def runs_of(url, entry):
    async def find():
        async with open_store(url) as store:
            registrar = Registrar(store)
            runs = await registrar.runs(f"celery/project/{entry}", limit=100)
            return runs, await store.attempts([run.key for run in runs])

    return asyncio.run(find())


@pytest.fixture(params=["rabbitmq", pytest.param("redis", marks=pytest.mark.campaign)])
def real_broker(request):
    with broker(request.param) as running:
        yield running


@pytest.fixture
def beats(tmp_path, real_broker, database):
    pair = [Beat(tmp_path, name, real_broker.url, database, ENTRIES) for name in ("one", "two")]
    yield pair
    for beat in pair:
        beat.end()


def test_two_beats_share_the_work_and_hand_over(beats, real_broker, database):
    one, two = beats
    with Consumer(real_broker.url) as consumer:
        for beat in beats:
            beat.start()
        wait_for(lambda: len(registered(database)) == len(ENTRIES), 60, one.text)
        first = int(time.time())
        wait_for(lambda: one.sent() > 8 and two.sent() > 8, 60, one.text)
        assert one.stop() == 0, one.text()
        stopped = int(time.time())
        wait_for(lambda: not consumer.lost(ENTRIES, first, stopped + 1), HAND_OVER, two.text)
        one.start()
        two.kill()
        killed = int(time.time())
        wait_for(lambda: not consumer.lost(ENTRIES, first, killed + 5), CLAIM_LEASE + SLACK + 5, one.text)
        assert one.stop() == 0
        assert consumer.doubled() == 0
        assert {message.key == message.id for message in consumer.messages} == {True}


def test_broker_outage_is_recorded_and_nothing_is_lost(beats, real_broker, database):
    one = beats[0]
    with Consumer(real_broker.url) as consumer:
        one.start()
        wait_for(lambda: len(consumer.messages) > len(ENTRIES), 60, one.text)
        first = int(time.time())
        real_broker.stop()
        outage = int(time.time())
        time.sleep(4)
        real_broker.start()
        wait_for(lambda: not consumer.lost(ENTRIES, first, outage + 3), 60, one.text)
        assert one.stop() == 0
        runs, attempts = runs_of(database, "entry0")
        assert consumer.doubled() == 0
    ended = [each for run, each in zip(runs, attempts, strict=True) if not run.open]  # an open run goes on later
    retried = [each for each in ended if each]
    assert retried, runs
    assert {str(attempt.result) for each in retried for attempt in each[:-1]} <= {"retryable", "unknown", "lost"}
    assert all(str(each[-1].result) in ("ok", "success") for each in retried), retried


def test_sqlite_serves_two_beats_on_one_host(tmp_path):
    with broker("redis") as redis, Consumer(redis.url) as consumer:
        pair = [Beat(tmp_path, name, redis.url, f"sqlite:{tmp_path}/jobs.db", ENTRIES) for name in ("one", "two")]
        try:
            for beat in pair:
                beat.start()
            wait_for(lambda: all(beat.sent() > 4 for beat in pair), 60, pair[0].text)
            first = int(time.time())
            wait_for(lambda: not consumer.lost(ENTRIES, first, first + 3), 30, pair[0].text)
            assert [beat.stop() for beat in pair] == [0, 0]
        finally:
            for beat in pair:
                beat.end()
        assert consumer.doubled() == 0


def test_removed_entry_is_removed_by_the_next_beat(tmp_path, database):
    with broker("redis") as redis:
        beat = Beat(tmp_path, "one", redis.url, database, {"kept": 1, "gone": 1})
        beat.start()
        wait_for(lambda: beat.sent() > 2, 60, beat.text)
        assert beat.stop() == 0
        beat = Beat(tmp_path, "two", redis.url, database, {"kept": 1, "added": 1})
        beat.start()
        wait_for(lambda: beat.sent() > 2, 60, beat.text)
        assert beat.stop() == 0
    assert registered(database) == ["added", "kept"]


def test_beat_without_a_store_says_what_to_set(tmp_path):
    env = {name: value for name, value in os.environ.items() if name != "KRON_STORE"}
    command = [sys.executable, "-m", "celery", "-A", "tests.integrations.celery_project", "beat", "-S", SCHEDULER]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode != 0
    assert "the Celery application has no kron_store" in result.stderr


@pytest.mark.first
def test_three_kills_lose_nothing_and_double_nothing(capsys):
    assert celery_kills.main("redis", 3) == 0, capsys.readouterr().out
