"""Table file: a krontab file that the daemon opens by the descriptor of its folder and checks before it reads it.

A user who can change the file can run commands. So the file must be a regular file with one link, belong to a trusted
user, and be writable by its owner only. The checks use the open descriptor: a file that is exchanged meanwhile is a
different file, and the next scan finds it.

A symbolic link is followed only inside the folder, step by step, as Kubernetes needs it: every link, every folder on
the way and the file must satisfy the same rules.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from kron.errors import InvalidInput, InvalidSchedule, KronError, NotFound

MAX_FILE_BYTES = 8 << 20
UNSAFE_MODE = 0o022  # writable by the group or by others
MAX_LINKS = 4  # that are followed for one file


class Signature(NamedTuple):
    """Facts of a file that change with its content, its owner or its permissions."""

    device: int
    inode: int
    size: int
    modified: int  # nanoseconds
    changed: int  # nanoseconds


def signature_of(facts: os.stat_result) -> Signature:
    """Return the signature of a file."""
    return Signature(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def signatures_of(folder: int, name: str) -> tuple[Signature, ...]:
    """Return the signature of a file in an open folder; of a symbolic link, also that of the file it leads to.

    Raises:
        FileNotFoundError: The folder has no such file.
    """
    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    signatures: tuple[Signature, ...] = (signature_of(facts),)
    if stat.S_ISLNK(facts.st_mode):
        with suppress(OSError):
            signatures += (signature_of(os.stat(name, dir_fd=folder)),)
    return signatures


def open_folder(path: str, owners: Collection[int]) -> int:
    """Open a folder of tables. The caller closes it.

    Raises:
        NotFound: The folder does not exist, or this user cannot read it.
        InvalidInput: Another user than its owners can change the folder.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        hint = "create the folder, or name another one with --config"
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint=hint) from None
    refusal = _folder_error(path, folder, owners)
    if refusal is not None:
        os.close(folder)
        raise refusal
    return folder


def read_file(folder: int, name: str, path: str, owners: Collection[int]) -> bytes:
    """Return the content of a file in an open folder: at most one byte more than a table can have.

    Args:
        folder: Descriptor of the folder.
        name: Name of the file in the folder.
        path: Path of the file, for messages.
        owners: User ids that the file can belong to.

    Raises:
        InvalidInput: The file is not safe to use.
        InvalidSchedule: The file is too large.
        NotFound: The file cannot be read.
    """
    try:
        with _followed(folder, name, path, owners) as (place, last_name):
            facts = os.stat(last_name, dir_fd=place, follow_symlinks=False)
            _check(path, facts, owners)  # opening a device can have effects
            file = os.open(last_name, _flags(), dir_fd=place)
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint="check the file and its permissions") from None
    with os.fdopen(file, "rb") as stream:
        before = os.fstat(file)
        _check(path, before, owners)
        content = stream.read(MAX_FILE_BYTES + 1)
        if signature_of(os.fstat(file)) != signature_of(before):
            raise _changed_error(path)
    return content


@contextmanager
def _followed(folder: int, name: str, path: str, owners: Collection[int]) -> Iterator[tuple[int, str]]:
    """Follow the symbolic links of a file. Yields the descriptor of the last folder, and the name of the file in it.

    Raises:
        InvalidInput: A link leaves the folder, or another user than the owners can change a step of the way.
    """
    steps, links, place = [name], 0, os.dup(folder)
    try:
        while True:
            facts = os.stat(steps[0], dir_fd=place, follow_symlinks=False)
            if stat.S_ISLNK(facts.st_mode):
                links += 1
                steps = [*_link_steps(place, steps[0], path, links, facts, owners), *steps[1:]]
            elif len(steps) == 1:
                yield place, steps[0]
                return
            else:
                last_place, place = place, os.open(steps[0], _flags() | os.O_DIRECTORY, dir_fd=place)
                os.close(last_place)
                refusal = _folder_error(f"{path}, in its folder {steps.pop(0)!r},", place, owners)
                if refusal is not None:
                    raise refusal
    finally:
        os.close(place)


def _link_steps(
    place: int, name: str, path: str, links: int, facts: os.stat_result, owners: Collection[int]
) -> list[str]:
    """Return the names on the way of a symbolic link, if it can be trusted and stays in its folder."""
    steps = [step for step in os.readlink(name, dir_fd=place).split("/") if step != "."]
    if links > MAX_LINKS or not all(steps) or ".." in steps:  # an absolute path begins with an empty step
        hint = "replace it by a regular file, or by a relative link that stays in the folder"
        raise InvalidInput("UNSAFE_FILE", f"{path} is a symbolic link that leaves its folder", hint=hint)
    refusal = _owner_error(f"{path} is a symbolic link that", facts, owners)
    if refusal is not None:
        raise refusal
    return steps


def _check(path: str, facts: os.stat_result, owners: Collection[int]) -> None:
    """Raise an error if a file is not safe to use."""
    refusal = _kind_error(path, facts) or _trust_error(path, facts, owners)
    if refusal is not None:
        raise refusal
    if facts.st_size > MAX_FILE_BYTES:
        raise _size_error(path)


def _kind_error(path: str, facts: os.stat_result) -> KronError | None:
    if not stat.S_ISREG(facts.st_mode):
        return InvalidInput("UNSAFE_FILE", f"{path} is not a regular file", hint="replace it by a regular file")
    if facts.st_nlink == 0:  # it was removed, or another file has its name now
        return _changed_error(path)
    if facts.st_nlink != 1:
        message = f"{path} has {facts.st_nlink} hard links, so that it can be changed under another name"
        return InvalidInput("UNSAFE_FILE", message, hint="copy it to a new file, and rename that to this path")
    return None


def _owner_error(path: str, facts: os.stat_result, owners: Collection[int]) -> KronError | None:
    if facts.st_uid in owners:
        return None
    allowed = " or ".join(map(str, sorted(owners)))
    message = f"{path} belongs to user {facts.st_uid}, not to user {allowed}"
    return InvalidInput("UNSAFE_FILE", message, hint="check its content, then change its owner with chown")


def _folder_error(path: str, folder: int, owners: Collection[int]) -> KronError | None:
    """Return why an open folder cannot be trusted; None if it can.

    In a file system that is mounted read-only, the mode of a folder gives no right to write. Kubernetes mounts the
    folder of a ConfigMap so, with mode 0777.
    """
    facts = os.fstat(folder)
    is_read_only = os.fstatvfs(folder).f_flag & os.ST_RDONLY
    return _owner_error(path, facts, owners) if is_read_only else _trust_error(path, facts, owners)


def _trust_error(path: str, facts: os.stat_result, owners: Collection[int]) -> KronError | None:
    refusal = _owner_error(path, facts, owners)
    if refusal is not None:
        return refusal
    if facts.st_mode & UNSAFE_MODE:
        message = f"{path} has mode {stat.S_IMODE(facts.st_mode):04o}: its group or others can write it"
        return InvalidInput("UNSAFE_FILE", message, hint="check its content, then run chmod go-w on it")
    return None


def _changed_error(path: str) -> KronError:
    hint = "write a new file in another folder, and rename it to this path"
    return InvalidInput("UNSAFE_FILE", f"{path} changed while it was read", hint=hint)


def _size_error(path: str) -> KronError:
    message = f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB"
    return InvalidSchedule("TOO_LONG", message, hint="split it into several files")


def text_of(content: bytes, path: str) -> str:
    """Return the content of a table as text.

    Raises:
        InvalidSchedule: The content is too large, or is not UTF-8 text.
    """
    if len(content) > MAX_FILE_BYTES:
        raise _size_error(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start} is not UTF-8"
        raise InvalidSchedule("BAD_CHARACTER", message, hint="save the file as UTF-8") from None
    if "\0" in text:
        message = f"{path}: line {text.count(chr(10), 0, text.index(chr(0))) + 1} has a NUL character"
        raise InvalidSchedule("BAD_CHARACTER", message, hint="save the file as plain text")
    return text


def _flags() -> int:
    """Return the flags of a file or a folder that another user may exchange. Not every system has all of them."""
    return os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
