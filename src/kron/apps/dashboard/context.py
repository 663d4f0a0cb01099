"""Context: what the pages of one dashboard share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kron.apps.dashboard.access import Access
from kron.engine.event_mirror import EventMirror
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.timing.job import Job


@dataclass(frozen=True, slots=True)
class DashboardContext:
    """Parts that the pages use.

    Attributes:
        store: The store that the pages read. None: only the page that tries schedules works.
        registrar: Makes the changes that operators ask for.
        access: Decides who may see what.
        store_name: Name of the store for people, without a password.
        is_shared: Whether workers register in this store. A worker that has the store to itself does not.
        mirror: Newest events of all processes. None: pages are not told of changes.
        has_streams: Whether the server of this dashboard ends open streams when it stops.
        check_job: Rejects a definition that the settings of a service do not allow, at a second. None: all are allowed.
    """

    store: Store | None
    registrar: Registrar | None
    access: Access
    store_name: str = ""
    is_shared: bool = True
    mirror: EventMirror | None = None
    has_streams: bool = False
    check_job: Callable[[Job, int], object] | None = None
