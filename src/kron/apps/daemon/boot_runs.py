"""Boot runs: `@reboot` jobs run once per boot of the host, however often the daemon starts.

The kernel's boot id names the request of each run, so that a second request for the same boot gives no second run. When
all runs of a boot are requested, the state folder remembers its id. So a job that is added later waits for the next
boot.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kron.engine.registrar import Actor, Registrar
from kron.engine.request_check import MAX_PAGE_SIZE
from kron.language.boot_form import is_boot

FILE_NAME = "boot"
MAX_ID_BYTES = 100
ACTOR = Actor("krond")


async def request_boot_runs(registrar: Registrar, folder: Path, boot: str) -> int:
    """Request a run of each `@reboot` job that is not paused, unless this was done for the same boot.

    Args:
        registrar: Where the runs are requested.
        folder: State folder.
        boot: Boot id of the host.

    Returns:
        How many jobs have a run for this boot; 0 if they were requested before.
    """
    path = folder / FILE_NAME
    if _read(path) == boot:
        return 0
    count, last = 0, ""
    while page := await registrar.schedules("/", after=last, limit=MAX_PAGE_SIZE):
        last = page[-1].identity
        for state in page:
            if is_boot(state.job.schedule) and not state.is_inactive:
                await registrar.trigger(state.identity, f"boot:{boot}", ACTOR)
                count += 1
    _write(path, boot)
    return count


def _read(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        return file.read(MAX_ID_BYTES).decode("ascii", "replace").strip()
    return ""


def _write(path: Path, boot: str) -> None:
    """Write the file as a whole. After a power failure, the host has another boot id."""
    draft = path.with_name(f".{path.name}")
    with draft.open("w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(f"{boot}\n")
    draft.replace(path)
