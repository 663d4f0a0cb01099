"""Table writer: installs and removes tables. A table is replaced by rename, so that the daemon never reads half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from kron.apps.cli.console import Screen
from kron.apps.host.place import Place
from kron.apps.host.state_folder import running_pid
from kron.apps.host.table_file import MAX_FILE_BYTES, open_folder
from kron.apps.host.tables import is_table_name
from kron.apps.plural import plural
from kron.errors import InvalidInput, KronError, NotFound, UsageError

NO_TABLE = "none"  # digest of a table that does not exist
NOTICE_SECONDS = 1  # in which a daemon reads a folder that has changed, where the system has inotify


def check_name(place: Place, name: str | None) -> str:
    """Return the name of a table. None is the only table of a user.

    Raises:
        UsageError: The daemon ignores files of this name, or a user can have no other table.
    """
    if place.only and name not in (None, place.only):
        message = f"user {place.only!r} has one table, which has the name of the user"
        raise UsageError("USAGE", message, hint="leave the name of the table out")
    if place.only:
        return place.only
    if name is None:
        raise UsageError("USAGE", "no table is named", hint="krontab -l lists the tables")
    if not is_table_name(name):
        message = f"table name {name!r} has other characters than A-Z a-z 0-9 _ -"
        raise UsageError("USAGE", message, hint="name the table with --name, such as --name backup")
    return name


def read_content(place: Place, name: str) -> bytes | None:
    """Return the content of a table; None if it does not exist.

    Raises:
        NotFound: The table cannot be read.
    """
    path = place.config / name
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint="check the file and its permissions") from None


def digest_of(content: bytes | None) -> str:
    """Return the SHA-256 digest of a table, or a word if there is no table."""
    return NO_TABLE if content is None else sha256(content).hexdigest()


def install(place: Place, name: str, content: bytes, screen: Screen, *, replaces: str | None = None) -> bool:
    """Check a table and install it. Returns False, and prints the problems, if the daemon would refuse it.

    Args:
        place: The daemon.
        name: Name of the table.
        content: Its new content.
        screen: Where problems are printed.
        replaces: Digest of the table that the caller has read before; None if it has read none.

    Raises:
        KronError: The table cannot be written, or has another digest than `replaces`.
    """
    table = place.folder.check(name, content)
    for problem in table.problems:
        screen.error(problem)
    if table.problems:
        return False
    if place.user:
        with suppress(OSError):  # opening the folder says what is wrong
            place.config.mkdir(mode=0o755, parents=True, exist_ok=True)
    old = read_content(place, name)
    if replaces is not None and digest_of(old) != replaces:
        message = f"{table.path} changed while it was edited"
        raise InvalidInput("UNSAFE_FILE", message, hint="compare both versions, then install one with krontab FILE")
    _write(place, name, content)
    action = "installed" if old is None else "replaced"
    screen.note(f"table {name} {action}: {plural(len(table.jobs), 'job')}")
    _note_daemon(place, screen)
    return True


def remove(place: Place, name: str, screen: Screen) -> None:
    """Remove a table.

    Raises:
        KronError: The table does not exist, or cannot be removed.
    """
    with _folder(place, name) as folder:
        os.unlink(name, dir_fd=folder)
    screen.note(f"table {name} removed")
    _note_daemon(place, screen)


def _write(place: Place, name: str, content: bytes) -> None:
    """Replace a table. The new file has a name that the daemon ignores until it is complete and on disk."""
    draft, flags = f".{name}.{secrets.token_hex(8)}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with _folder(place, name) as folder:
        try:
            with os.fdopen(os.open(draft, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(content)
                file.flush()
                _give(place, name, file.fileno())
                os.fsync(file.fileno())
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)


def _give(place: Place, name: str, file: int) -> None:
    """Give a new file its permissions. A user's table belongs to the user, who cannot reach it in the spool."""
    table_folder = place.folder
    if place.only and (account := table_folder.account_of(name)) is not None:
        os.fchown(file, account.uid, -1)
    os.fchmod(file, table_folder.mode)


@contextmanager
def _folder(place: Place, name: str) -> Iterator[int]:
    """Open the folder of the tables, and turn errors of the system into errors with a hint."""
    path = place.config / name
    folder = open_folder(str(place.config), place.folder.owners)
    try:
        yield folder
    except OSError as error:
        raise _write_error(str(path), error) from None
    finally:
        os.close(folder)


def _write_error(path: str, error: OSError) -> KronError:
    if isinstance(error, FileNotFoundError):
        return NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint="krontab -l lists the tables")
    hint = "use a folder that this user can write to, or become root"
    return InvalidInput("BAD_FILE", f"{path} cannot be changed: {error.strerror}", hint=hint)


def _note_daemon(place: Place, screen: Screen) -> None:
    """Say when the change is in force. A daemon that runs this command itself reads its tables before it answers."""
    option = " --user" if place.user else ""
    with suppress(KronError):  # the state folder of another user does not concern the tables
        pid = running_pid(place.state)
        if pid is None:
            screen.note(f"krond is not running: start krond{option}")
        elif pid != os.getpid():
            screen.note(f"krond uses the change within {NOTICE_SECONDS} s; krontab{option} reload waits until it does")
