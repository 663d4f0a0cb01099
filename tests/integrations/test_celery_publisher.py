"""Publisher: a worker publishes due periods with Celery, and records what became of each message."""

import asyncio
import uuid

import pytest
from celery import Celery
from celery.beat import ScheduleEntry

from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.registrar import Registrar
from kron.engine.worker import Worker
from kron.integrations.celery.entry_job import job_of
from kron.integrations.celery.publisher import Publisher, confirm_messages
from kron.integrations.celery.settings import settings_of
from kron.rules.attempt import AttemptResult
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.key import key_of

START = 1_800_000_000  # seconds; a multiple of 30
DEAD_BROKER = "amqp://127.0.0.1:9//"  # the discard port, at which nothing listens


def app_of(broker="memory://"):
    app = Celery("proj", broker=broker, set_as_current=False)
    app.conf.update(kron_store="sqlite:unused.db", task_default_queue=uuid.uuid4().hex, broker_connection_timeout=1)
    return app


class Beat:
    """One worker with a clock of its own, and the messages that it published."""

    def __init__(self, app, **fields):
        self.app, self.clock = app, ManualClock(float(START))
        self.store = MemoryStore(self.clock)
        self.settings = settings_of(app)
        entry = ScheduleEntry(**{"name": "e", "task": "proj.send", "schedule": 30, "app": app, **fields})
        self.job = job_of(entry, self.settings)
        launchers = {self.settings.scheme: Publisher(app)}
        self.worker = Worker(self.store, launchers, SystemTimer(), owner="beat-1")

    async def run_for(self, seconds):
        await Registrar(self.store).upsert(self.job)
        for _ in range(seconds):
            self.clock.advance(1)
            await self.worker.tick()
        return await self.store.runs(self.job.identity, 20, "")

    def received(self, queue=""):
        """The messages in a queue, oldest first."""
        found = []
        with (
            self.app.connection_for_read() as connection,
            connection.SimpleQueue(queue or self.app.conf.task_default_queue) as waiting,
        ):
            while waiting.qsize():
                message = waiting.get(block=False)
                message.ack()
                found.append(message)
        return found


def test_message_has_the_key_as_its_task_id():
    beat = Beat(app_of(), args=["x"], kwargs={"n": 1})
    runs = asyncio.run(beat.run_for(61))
    first, second = beat.received()
    assert [first.headers["id"], second.headers["id"]] == [key_of("celery/proj/e", START + s) for s in (30, 60)]
    assert [run.state for run in runs] == [State.SUCCESS, State.SUCCESS]
    assert first.payload[:2] == [["x"], {"n": 1}]
    assert first.headers["task"] == "proj.send"


def test_headers_name_key_period_and_attempt():
    beat = Beat(app_of(), options={"headers": {"team": "a"}})
    (run,) = asyncio.run(beat.run_for(31))
    headers = beat.received()[0].headers
    expected = {"kron_key": run.key, "kron_period": "2027-01-15T08:00:30Z", "kron_attempt": 1, "team": "a"}
    assert {name: headers[name] for name in expected} == expected
    assert headers["celery_beat_task"] is True


def test_options_of_the_entry_and_of_the_task_are_honored():
    app = app_of()

    @app.task(name="proj.send", priority=7, expires=900, shared=False)
    def send(word):
        """Do nothing."""

    queue = uuid.uuid4().hex
    beat = Beat(app, args=["x"], options={"queue": queue, "expires": 60, "shadow": "other"})
    asyncio.run(beat.run_for(31))
    (message,) = beat.received(queue)
    assert message.properties["priority"] == 7
    assert message.headers["shadow"] == "other"
    assert message.headers["expires"] is not None


def test_message_that_cannot_be_built_is_rejected_at_once():
    app = app_of()

    @app.task(name="proj.send", shared=False)
    def send(word):
        """Do nothing."""

    beat = Beat(app)  # without the argument that the task needs
    (run,) = asyncio.run(beat.run_for(31))
    assert (run.state, str(run.reason)) == (State.FAILED, "launch_failed")
    assert beat.received() == []


def test_broker_that_is_down_is_recorded_and_retried(caplog):
    beat = Beat(app_of(DEAD_BROKER))

    async def fail_then_recover():
        (failed,) = await beat.run_for(30)
        attempts = (await beat.store.attempts([failed.key]))[0]
        beat.worker.launchers[beat.settings.scheme].app = beat.app = app_of()
        (recovered,) = await beat.run_for(20)
        return failed, attempts, recovered

    failed, attempts, recovered = asyncio.run(fail_then_recover())
    assert (failed.state, str(failed.reason)) == (State.RETRY, "launch_failed")
    assert [(one.number, one.result) for one in attempts] == [(1, AttemptResult.RETRYABLE)]
    assert "refused" in attempts[0].excerpt
    (line,) = [record for record in caplog.records if record.name == "celery.beat" and record.levelname == "WARNING"]
    assert line.getMessage().startswith("Scheduler: Due task ")
    assert line.getMessage().endswith(f" not sent: {attempts[0].excerpt}"), "the log has the cause, too"
    assert recovered.state is State.SUCCESS
    (message,) = beat.received()
    assert message.headers["id"] == failed.key
    assert message.headers["kron_attempt"] > 1


@pytest.mark.parametrize(("broker", "confirmed"), [("amqp://127.0.0.1:9//", True), ("memory://", None)])
def test_rabbitmq_confirms_each_message(broker, confirmed):
    app = app_of(broker)
    confirm_messages(app)
    assert app.conf.broker_transport_options.get("confirm_publish") is confirmed
