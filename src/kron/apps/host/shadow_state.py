"""Shadow state: whether a store belongs to a shadow daemon. The targets of its jobs say so, in every record of them.

A store without jobs of tables has no records of them either. It becomes what the first daemon that uses it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kron.apps.host.tables import SHADOW_TARGET
from kron.engine.store import Store
from kron.errors import InvalidSetting
from kron.rules.state import ScheduleState


async def check_state(store: Store, state: Path, *, shadow: bool) -> None:
    """Check that a store has only jobs of shadow daemons, or only jobs of other daemons.

    Deleted jobs count, because their records stay.

    Raises:
        InvalidSetting: The store belongs to a daemon of the other kind.
    """
    first_names = [name for deleted in (False, True) for name in await store.identities("", 1, "/", deleted=deleted)]
    check_jobs([job for job in await store.get(first_names) if job], state, shadow=shadow)


def check_jobs(jobs: Iterable[ScheduleState], state: Path, *, shadow: bool) -> None:
    """Check that jobs of a store belong to a shadow daemon, or to another one.

    Raises:
        InvalidSetting: A job belongs to a daemon of the other kind.
    """
    if all((each.job.target == SHADOW_TARGET) == shadow for each in jobs):
        return
    if shadow:
        message = f"{state} has the records of a krond that starts commands, not of krond --shadow"
        raise InvalidSetting("SHADOW_STATE", message, hint="use another state file, or omit --shadow")
    message = f"{state} has the records of krond --shadow, which starts nothing"
    raise InvalidSetting("SHADOW_STATE", message, hint="use another state file, or add --shadow")
