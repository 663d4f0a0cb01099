"""State folder: the store, the command journal and the lock of one daemon."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kron.apps.host.table_file import UNSAFE_MODE
from kron.errors import InvalidSetting

LOCK_NAME, JOURNAL_NAME = "krond.lock", "journal"


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Create the folder of a state file, and lock it for this process. The lock ends with the process.

    The state file has the definitions of the jobs, so that only its owner can read it.

    Raises:
        InvalidSetting: Another daemon uses the folder, or the folder cannot be used.
    """
    import fcntl  # not available on every system

    folder = state.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check(folder)
        lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable_error(folder, error) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use_error(folder, lock) from None
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            os.close(os.open(state, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:  # such as a full disk
            raise _unusable_error(folder, error) from None
        yield
    finally:
        os.close(lock)


def running_pid(state: Path) -> int | None:
    """Return the process id of the daemon that uses a state file; None if none does.

    The lock itself is not tried: a daemon that starts at that moment would find its folder in use.

    Raises:
        InvalidSetting: This user cannot read the folder.
    """
    path = state.parent / LOCK_NAME
    try:
        facts, text = path.stat(), path.read_text(encoding="ascii").strip()
        files = Path(f"/proc/{int(text)}/fd")
        return int(text) if any(_is_file(each, facts) for each in files.iterdir()) else None
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        message = f"the state folder {str(state.parent)!r} cannot be read: {error.strerror}"
        raise InvalidSetting("STATE_FOLDER", message, hint="use the account that krond runs as") from None


def _is_file(descriptor: Path, facts: os.stat_result) -> bool:
    """Return whether a descriptor of a process is the file with these facts."""
    try:
        return os.path.samestat(descriptor.stat(), facts)
    except OSError:  # the process has closed it
        return False


def _unusable_error(folder: Path, error: OSError) -> InvalidSetting:
    message = f"the state folder {str(folder)!r} cannot be used: {error.strerror}"
    return InvalidSetting("STATE_FOLDER", message, hint="use a folder that this user can write to, with free space")


def _in_use_error(folder: Path, lock: int) -> InvalidSetting:
    owner = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
    message = f"the state folder {str(folder)!r} is in use by the krond process {owner}"
    hint = f"stop that process, or use another state file; kill -HUP {owner} makes it read its tables again"
    return InvalidSetting("STATE_IN_USE", message, hint=hint)


def _check(folder: Path) -> None:
    """Raise an error if other users can change the state of the daemon."""
    facts = folder.stat()
    if facts.st_uid not in (0, os.geteuid()) or facts.st_mode & UNSAFE_MODE:
        mode = stat.S_IMODE(facts.st_mode)
        message = f"the state folder {str(folder)!r} has mode {mode:04o} and owner {facts.st_uid}: others can change it"
        raise InvalidSetting("STATE_FOLDER", message, hint="use a folder of its own that only this user can write to")
