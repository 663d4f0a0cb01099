"""Drop of privileges of a new process: by setpriv, or by Python where setpriv cannot be used."""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from kron.launchers.command.rights import Rights

_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")  # not those of PATH
_PROBE_SECONDS = 10.0


def with_rights(arguments: list[str], rights: Rights | None, options: dict[str, Any]) -> list[str]:
    """Return the arguments of a process that takes the rights before its program starts.

    setpriv changes user, group and supplementary groups together. Without it, Python does, which is slower: it has to
    copy the page tables of this process (fork instead of vfork). Then the options of the process have the rights.
    """
    if rights is None:
        return arguments
    setpriv = find_setpriv()
    if setpriv is None:
        options |= {"user": rights.uid, "group": rights.gid, "extra_groups": rights.groups}
        return arguments
    groups = ["--groups", ",".join(map(str, rights.groups))] if rights.groups else ["--clear-groups"]
    return [setpriv, "--reuid", str(rights.uid), "--regid", str(rights.gid), *groups, "--", *arguments]


@lru_cache(1)
def find_setpriv() -> str | None:
    """Return the path of setpriv; None if it does not exist, lacks options, or this worker is not allowed to use it."""
    paths = (Path(folder, "setpriv") for folder in _FOLDERS)
    path = next((str(path) for path in paths if path.exists()), None)
    if path is None or os.geteuid() != 0:
        return None
    options = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--", "/bin/sh", "-c", ":"]
    try:
        probe = subprocess.run(  # noqa: S603  # constant arguments
            [path, *options], check=False, capture_output=True, timeout=_PROBE_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return path if probe.returncode == 0 else None
