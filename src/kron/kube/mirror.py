"""Mirror: a local copy of the objects of one kind, from a list and a watch. It tells every change once.

A watch that breaks resumes from the last version. If that version is too old, the mirror lists again and compares, so
that deletions which no watch reported are told too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from time import monotonic
from typing import Generic, NamedTuple, Protocol, TypeVar

from kron.kube.api import Api, WatchEvent
from kron.kube.failure import BUSY, NoAnswer, Refusal
from kron.kube.kind import Body, Kind, Place, place_of

MIN_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.1, 5.0  # between two attempts after a failure; the delay doubles
WATCH_SECONDS = 270  # length of one watch
MIN_WATCH_SECONDS = 1.0  # an empty watch that is shorter counts as a failure
RESYNC_SECONDS = 600.0  # a list at least this often, for changes that a watch of the server lost
CUT_RESYNC_SECONDS = 60.0  # a list so soon after a line was cut: the database can have been restored meanwhile
log = logging.getLogger("kron.kube")
Value = TypeVar("Value")


class Entry(NamedTuple, Generic[Value]):
    """Object in a mirror: its unique identifier, its version, and what the mirror keeps of it."""

    uid: str
    version: str
    value: Value


class Changed(Protocol[Value]):
    """Callback for a change. `before` is None for a new object, `after` for a deleted one.

    An object that was deleted and created again under its name is told as two changes.
    """

    def __call__(self, place: Place, before: Entry[Value] | None, after: Entry[Value] | None) -> None:
        """Note the change."""


def _nothing() -> None:
    """Do nothing."""


class Mirror(Generic[Value]):
    """Copy of the objects of a kind in one namespace or in all.

    Args:
        api: The API server.
        kind: Kind of the objects.
        keep: Returns what to keep of an object. The rest is dropped at once.
        changed: Called for each change, in order.
        namespace: Namespace; empty for all.
        selector: Label selector.
        listed: Called after each complete list, when its changes have been told.
        sleep: Waits for seconds.
        clock: Returns seconds that never go back.
    """

    def __init__(
        self,
        api: Api,
        kind: Kind,
        keep: Callable[[Body], Value],
        changed: Changed[Value],
        *,
        namespace: str = "",
        selector: str = "",
        listed: Callable[[], None] = _nothing,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.api, self.kind, self.keep = api, kind, keep
        self.changed, self.listed = changed, listed
        self.namespace, self.selector = namespace, selector
        self.sleep, self.clock = sleep, clock
        self.entries: dict[Place, Entry[Value]] = {}
        self.synced = asyncio.Event()  # set after the first complete list
        self.breaks = self.lists = 0  # failures, and complete lists
        self.failure: Exception | None = None  # of the last attempt, until one succeeds
        self._version = ""  # the copy is as of this version; empty: list before watching
        self._resync_at = 0.0
        self._delay = MIN_DELAY_SECONDS

    async def run(self) -> None:
        """Keep the copy current until the task is canceled."""
        while True:
            try:
                if not self._version or self.clock() >= self._resync_at:
                    await self._list()
                elif self.failure is not None:
                    await self.api.check_version(self.kind, self.namespace, self._version)
                await self._watch()
            except (Refusal, NoAnswer) as failure:
                await self._recover(failure)

    async def _recover(self, failure: Refusal | NoAnswer) -> None:
        """Wait before the next attempt, and choose how to continue.

        A busy server can continue from the version of the copy. Any other refusal means that it cannot: the version is
        too old (410), or newer than a database that was restored from a backup. A server that was down is asked for a
        list, and one whose line was cut for its version: a restored one would send no event until it reaches the
        version of the copy. One that has reached it by other changes is found by a list soon.
        """
        self.breaks += 1
        self.failure = failure
        wait = self._delay
        if isinstance(failure, Refusal):
            wait = max(wait, failure.retry_after)
            self._version = self._version if failure.status in BUSY else ""
        else:
            delay = CUT_RESYNC_SECONDS if failure.may_have_arrived else 0.0
            self._resync_at = min(self._resync_at, self.clock() + delay)
        log.info("%s: %s; trying again in %.1f s", self.kind.plural, failure, wait)
        self._delay = min(self._delay * 2, MAX_DELAY_SECONDS)
        await self.sleep(wait)

    async def _list(self) -> None:
        """Replace the copy by a complete list, and tell the differences.

        The list is not older than the copy. An older one, from a cache, would look like changes back.
        """
        entries, version = dict[Place, Entry[Value]](), ""
        pages = self.api.pages(self.kind, self.namespace, selector=self.selector, not_older_than=self._version)
        async with aclosing(pages):
            async for page in pages:
                version = page.version
                entries.update((place_of(body), self._entry_of(body)) for body in page.items)
        for place in [place for place in self.entries if place not in entries]:
            self._tell(place, None)
        for place, entry in entries.items():
            self._tell(place, entry)
        self._version, self._resync_at = version, self.clock() + RESYNC_SECONDS
        self.lists += 1
        self.failure = None
        self.listed()
        self.synced.set()

    async def _watch(self) -> None:
        """Follow the changes after the version of the copy until the server ends the watch.

        The delay between attempts starts again at its minimum only here: a server whose lists succeed and whose watches
        fail is not asked for a list ten times per second.
        """
        started, is_empty = self.clock(), True
        seconds = max(1, min(WATCH_SECONDS, int(self._resync_at - started)))
        events = self.api.watch(
            self.kind, self.namespace, version=self._version, seconds=seconds, selector=self.selector
        )
        async with aclosing(events):
            async for event in events:
                self._apply(event)
                self.failure, self._delay, is_empty = None, MIN_DELAY_SECONDS, False
        if is_empty and self.clock() - started < MIN_WATCH_SECONDS:
            raise NoAnswer("the watch ended at once", may_have_arrived=True)

    def _apply(self, event: WatchEvent) -> None:
        if event.type != "BOOKMARK":
            after = None if event.type == "DELETED" else self._entry_of(event.body)
            self._tell(place_of(event.body), after)
        self._version = str(event.body["metadata"].get("resourceVersion") or self._version)

    def _tell(self, place: Place, after: Entry[Value] | None) -> None:
        """Enter the state of an object, and tell the change if there is one."""
        before = self.entries.get(place)
        if before and after and before.uid != after.uid:
            del self.entries[place]
            self.changed(place, before, None)
            before = None
        if after is not None:
            self.entries[place] = after
        else:
            self.entries.pop(place, None)
        if (before and before[:2]) != (after and after[:2]):
            self.changed(place, before, after)

    def _entry_of(self, body: Body) -> Entry[Value]:
        metadata = body["metadata"]
        return Entry(str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""), self.keep(body))
