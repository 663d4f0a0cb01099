"""Kind of a store: whether it has the records of an operator, or of one that creates nothing.

The targets of its schedules say so. The records of a dry run would tell an operator that periods are handled.
"""

from __future__ import annotations

from kron.apps.operator.definition import SCHEME
from kron.apps.operator.identities import PAGE_SIZE
from kron.engine.store import Store
from kron.errors import InvalidSetting
from kron.launchers.shadow import SHADOW_SCHEME


async def check_kind(store: Store, url: str, prefix: str, *, dry_run: bool) -> None:
    """Check that a store has no KronJobs of an operator of the other kind. Deleted ones count.

    Raises:
        InvalidSetting: It has.
    """
    other = SCHEME if dry_run else SHADOW_SCHEME
    for deleted in (False, True):
        last = ""
        while page := await store.identities(last, PAGE_SIZE, prefix, deleted=deleted):
            last = page[-1]
            if any(state and _is_of(state.job.target, other) for state in await store.get(page)):
                raise _wrong_kind(url, dry_run=dry_run)


def _is_of(target: str, scheme: str) -> bool:
    """Return whether a target is that of a KronJob. The targets of a shadow krond name no object."""
    found, _, place = target.partition(":")
    return found == scheme and "/" in place


def _wrong_kind(url: str, *, dry_run: bool) -> InvalidSetting:
    if dry_run:
        message = f"{url} has the records of an operator that creates Jobs"
        return InvalidSetting("SHADOW_STATE", message, hint="use another store, or omit --dry-run")
    message = f"{url} has the records of kron operator run --dry-run, which creates nothing"
    return InvalidSetting("SHADOW_STATE", message, hint="use another store, or add --dry-run")
