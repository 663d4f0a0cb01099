"""Publisher: launches a run by publishing its task. The key of the run is the task id."""

from __future__ import annotations

from functools import partial
from typing import Any

from celery.exceptions import QueueNotFound
from celery.utils.log import get_logger
from kombu.exceptions import EncodeError

from kron.engine.launcher import Launch
from kron.integrations.celery.entry_job import Message, message_of
from kron.launchers.threads import Threads
from kron.rules.excerpt import excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.timing.zone import rfc3339

MAX_CONNECTION_RETRIES = 1  # attempts after which Kron records that the broker is down, and retries later
log = get_logger("celery.beat")


class Publisher:
    """Launcher of the tasks of one Celery application.

    The same run can be published twice, if its worker dies or the broker does not answer. Both messages have the same
    task id.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self.threads = Threads(app.conf.broker_pool_limit or 1)

    async def start(self, launch: Launch) -> LaunchResponse:
        """Publish the task of a run, in a thread."""
        response = await self.threads.run(partial(self.publish, launch), lambda: None)
        assert isinstance(response, LaunchResponse)  # noqa: S101  `Threads` runs functions of any type
        return response

    async def cancel(self, run: Run) -> None:
        """Do nothing: a published task runs."""

    def publish(self, launch: Launch) -> LaunchResponse:
        """Publish the task of a run, and say what is certain about it.

        An error before the message is sent is `retryable`. A message that cannot be built is `rejected`. After any
        other error the message may have arrived.
        """
        message = message_of(launch.job)
        try:
            producer = self.app.producer_pool.acquire(block=True)
        except Exception as error:
            return _unsent(launch, error)
        try:
            producer.connection.ensure_connection(max_retries=MAX_CONNECTION_RETRIES, interval_start=0)
        except Exception as error:
            producer.release()
            return _unsent(launch, error)
        try:
            log.info("Scheduler: Sending due task %s (%s)", launch.job.name, message.task)
            self._send(message, launch.run, producer)
        except (EncodeError, TypeError, QueueNotFound) as error:
            return LaunchResponse(LaunchResult.REJECTED, excerpt=excerpt_of_error(error))
        finally:
            producer.release()
        log.debug("%s sent. id->%s", message.task, launch.run.key)
        return LaunchResponse(LaunchResult.OK, run_id=launch.run.key)

    def _send(self, message: Message, run: Run, producer: Any) -> None:
        """Publish a message as beat does. A task that this process does not know is published by its name."""
        task = self.app.tasks.get(message.task)
        send = task.apply_async if task else partial(self.app.send_task, message.task)
        headers = {**message.options.get("headers", {}), **headers_of(run)}
        options = {**message.options, "headers": headers, "task_id": run.key, "producer": producer}
        send(message.args, message.kwargs, **options)


def _unsent(launch: Launch, error: Exception) -> LaunchResponse:
    """Return the response of a run whose broker cannot be reached, and log the cause."""
    cause = excerpt_of_error(error)
    log.warning("Scheduler: Due task %s not sent: %s", launch.job.name, cause)
    return LaunchResponse(LaunchResult.RETRYABLE, excerpt=cause)


def headers_of(run: Run) -> dict[str, Any]:
    """Return the message headers that say which run a task belongs to."""
    return {
        "celery_beat_task": True,  # as beat marks its messages
        "kron_key": run.key,
        "kron_period": rfc3339(run.nominal),
        "kron_attempt": run.attempt,
    }


def confirm_messages(app: Any) -> None:
    """Make RabbitMQ confirm each message, because a message on a broken connection would be lost without an error."""
    with app.connection_for_write() as connection:
        if connection.transport.driver_type == "amqp":
            options = {"confirm_publish": True, **app.conf.broker_transport_options}
            app.conf.broker_transport_options = options
