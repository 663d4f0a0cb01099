"""Context: what the pages of one dashboard share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from kron.apps.dashboard.access import Access, Viewer
from kron.apps.dashboard.form import Fields
from kron.apps.dashboard.open_streams import OpenStreams
from kron.apps.dashboard.page_turns import PageTurns
from kron.engine.event_mirror import EventMirror
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.timing.job import Job


class ActionRecorder(Protocol):
    """Records the changes that people request, for a service that keeps an audit log."""

    async def acted(
        self, request: Request, viewer: Viewer | None, fields: Fields, act: Callable[[], Awaitable[Response]]
    ) -> Response:
        """Record a change, make it, record its result, and return its response."""

    def refused(self, request: Request, viewer: Viewer | None, status: int) -> None:
        """Record a change that was refused."""


class RunQuota(Protocol):
    """Limits the runs that people of a tenant request."""

    def batch_size(self, size: int) -> int:
        """Return how many runs one batch can start: `size`, or fewer if the quota of a minute is smaller."""

    def spend(self, tenant: str, starts: int) -> None:
        """Count runs.

        Raises:
            InvalidInput: These are more runs than any wait allows.
            QuotaExceeded: They cannot start now. The details have the seconds to wait as `retry_after`.
        """


@dataclass(frozen=True, slots=True)
class DashboardContext:
    """Parts that the pages use.

    Attributes:
        store: The store that the pages read. None: only the page that tries schedules works.
        registrar: Makes the changes that operators ask for.
        access: Decides who may see what.
        store_name: Name of the store for people, without a password.
        service_url: URL of the service whose HTTP API does the same as the forms; empty: commands use the store.
        is_shared: Whether workers register in this store. A worker that has the store to itself does not.
        mirror: Newest events of all processes. None: pages are not told of changes.
        has_streams: Whether the server of this dashboard ends open streams when it stops.
        check_job: Rejects a definition that the settings of a service do not allow, at a second. None: all are allowed.
        has_login: Whether people sign in. Then no page but those of the login is open without a session.
        is_secure: Whether browsers use TLS, although the request does not say so (behind a proxy).
        recorder: Records changes. None: they are recorded in the store only.
        quota: Limits the runs that people of a tenant request. None: no limit.
        streams: Counts the open streams.
        turns: Gives open pages the moments at which they load themselves again.
    """

    store: Store | None
    registrar: Registrar | None
    access: Access
    store_name: str = ""
    is_shared: bool = True
    mirror: EventMirror | None = None
    has_streams: bool = False
    check_job: Callable[[Job, int], object] | None = None
    has_login: bool = False
    is_secure: bool = False
    recorder: ActionRecorder | None = None
    quota: RunQuota | None = None
    service_url: str = ""
    streams: OpenStreams = field(default_factory=OpenStreams)
    turns: PageTurns = field(default_factory=PageTurns)
