"""Notifier: reads the record of ended runs, and tells about them once.

The events of the daemon say which runs have ended; the store says how. A run is noted on disk before a message about it
is sent, so that a restart repeats nothing. What ended while the daemon was killed is found by a scan when it starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from kron.apps.daemon.installation import Installation
from kron.apps.daemon.notifications.decision import decide_gap, decide_run
from kron.apps.daemon.notifications.delivery import MAX_DELIVERIES, Deliveries
from kron.apps.daemon.notifications.message import Message
from kron.apps.daemon.notifications.notified import Notified
from kron.engine.events import Event, Sink
from kron.engine.store import Store
from kron.language.notification_form import Means, NotificationForm, notification_form
from kron.launchers.command.output import output_name, tail
from kron.rules.attempt import last_error
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.timing.job import Command

log = logging.getLogger("kron.apps.daemon.notifications")
FILE_NAME = "notified.db"
MAX_PENDING = 10_000  # ended runs that wait; the record has the others
SCANNED_RUNS = 200  # newest runs of each job that the scan considers
OUTPUT_BYTES = 64_000  # of the captured output that a message has
_EVENTS = frozenset({"run_finished", "launch_completed", "gap_recorded"})
T = TypeVar("T")


class Places(NamedTuple):
    """Files of the notifier: the state folder, the folder of captured outputs, and sendmail."""

    state: Path
    outputs: Path
    sendmail: str


class Notifier:
    """Sender of the messages of all jobs. `receive` is a sink; `run` does the work."""

    def __init__(self, store: Store, installation: Installation, places: Places, sink: Sink) -> None:
        self.store, self.installation, self.places, self.sink = store, installation, places, sink
        self.notified, self.deliveries = Notified(places.state / FILE_NAME), Deliveries(places.state)
        self.thread = ThreadPoolExecutor(1, "kron-notified")
        self.pending, self.wake = deque[tuple[str, str]](), asyncio.Event()
        self.must_scan, self.idle = True, asyncio.Event()
        self.sending = set[asyncio.Task[None]]()

    def receive(self, event: Event) -> None:
        """Take an event of the daemon. A run that has ended waits until it is told about."""
        if event.name not in _EVENTS or not self.installation.may_notify(event.facts["identity"]):
            return
        if len(self.pending) >= MAX_PENDING:
            self.must_scan = True
        else:
            self.pending.append((event.facts["identity"], event.facts.get("key", "")))
        self.wake_up()

    def wake_up(self) -> None:
        """Look for work: after an event, or after the tables have changed."""
        self.idle.clear()
        self.wake.set()

    async def run(self) -> None:
        """Send messages until canceled. A failure is logged, and does not end this."""
        while True:
            self.wake.clear()
            try:
                await self._work()
            except Exception:
                log.exception("notifications failed; the next event tries again")
            if not self.wake.is_set():
                self.idle.set()
            await self.wake.wait()

    async def settle(self, seconds: float) -> None:
        """Wait until there is nothing left to tell, for a limited time."""
        try:
            async with asyncio.timeout(seconds):
                await self.idle.wait()
                await asyncio.gather(*self.sending)
        except TimeoutError:
            return

    async def _work(self) -> None:
        now, identities = await self.store.now(), sorted(self.installation.notifying_jobs)
        if self.must_scan:
            self.must_scan = False
            for identity in identities:
                await self._scan(identity)
        await self._in_thread(lambda: self.notified.watch(identities, now))
        while self.pending:
            identity, key = self.pending.popleft()
            runs = [run for run in await self.store.runs_by_key([key]) if run] if key else []
            await self._tell(identity, runs, [] if key else (await self.store.gaps(identity))[-1:])

    async def _scan(self, identity: str) -> None:
        """Find what has ended since the job is watched."""
        since = await self._in_thread(lambda: self.notified.since(identity))
        if since is None:
            return
        runs = [run for run in await self.store.runs(identity, SCANNED_RUNS) if run.changed >= since]
        gaps = [gap for gap in await self.store.gaps(identity) if gap.last * 1000 >= since]
        await self._tell(identity, sorted(runs, key=lambda run: run.changed), gaps)

    async def _tell(self, identity: str, runs: Iterable[Run], gaps: Iterable[GapRecord]) -> None:
        """Send the messages about ended runs and missed periods of a job that were not told yet."""
        (state,) = await self.store.get([identity])
        command = state.job.command if state else None
        if state is None or command is None or not command.notify:
            return
        forms = [notification_form(*pair) for pair in command.notify]
        for gap in gaps:
            await self._tell_gap(identity, gap, command, forms)
        for run in runs:
            if not run.open:
                await self._tell_run(run, command, forms)

    async def _tell_gap(self, identity: str, gap: GapRecord, command: Command, forms: list[NotificationForm]) -> None:
        now = await self.store.now()
        decision = await self._in_thread(lambda: decide_gap(self.notified, identity, gap, now))
        if decision.occasions:
            times, cause = (gap.first, gap.last, gap.count), (str(gap.outcome), str(gap.reason))
            message = Message(decision.occasions, identity, "", *times, *cause, repeats=decision.repeats)
            await self._send(message, command, forms)

    async def _tell_run(self, run: Run, command: Command, forms: list[NotificationForm]) -> None:
        now, (attempts,) = await self.store.now(), await self.store.attempts([run.key])
        code = attempts[-1].code if attempts else None
        path = self.places.outputs / output_name(run.identity, run.key)
        output = await self._in_thread(lambda: tail(path, OUTPUT_BYTES))
        decision = await self._in_thread(lambda: decide_run(self.notified, run, code, now, has_output=bool(output)))
        if decision.occasions:
            message = Message(
                decision.occasions,
                run.identity,
                run.key,
                run.nominal,
                run.nominal,
                1,
                str(run.state),
                str(run.reason or ""),
                exit_status=code,
                text=last_error(attempts) or "",
                repeats=decision.repeats,
                output=output,
            )
            await self._send(message, command, forms)

    async def _send(self, message: Message, command: Command, forms: list[NotificationForm]) -> None:
        """Begin to send a message to each target that wants it, a few at once."""
        for form in forms:
            wanted = tuple(occasion for occasion in message.events if occasion in form.occasions)
            if not wanted:
                continue
            while len(self.sending) >= MAX_DELIVERIES:
                await asyncio.wait(self.sending, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(self._deliver(replace(message, events=wanted), command, form))
            self.sending.add(task)
            task.add_done_callback(self.sending.discard)

    async def _deliver(self, message: Message, command: Command, form: NotificationForm) -> None:
        try:
            error = await self._delivered(message, command, form)
        except Exception as unexpected:  # one message must not end the others
            error = repr(unexpected)
        facts = {"identity": message.identity, "key": message.key, "events": ",".join(message.events)}
        facts["target"] = f"{form.means}:{_shown(form)}"
        if error:
            self.sink(Event("notification_failed", 0, facts | {"error": error}))
        else:
            self.sink(Event("notification_sent", 0, facts))

    async def _delivered(self, message: Message, command: Command, form: NotificationForm) -> str:
        """Deliver a message by its means. Returns why that failed; empty if it did not."""
        if form.means is Means.POST:
            return await self.deliveries.post(form.addresses[0], message.as_json(), command)
        if form.means is Means.EXEC:
            return await self.deliveries.deliver(form.addresses, message.as_json(), command)
        arguments = [self.places.sendmail, "-i", *form.addresses]
        return await self.deliveries.deliver(arguments, message.as_mail(form.addresses), command)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, work)


def _shown(form: NotificationForm) -> str:
    """Return where a message goes, for the log. The path of a URL can be a secret."""
    if form.means is not Means.POST:
        return ",".join(form.addresses)
    parts = urlsplit(form.addresses[0])
    return f"{parts.scheme}://{parts.netloc}/..."
