"""Output file of a host command: opened with the rights of its user, and only if it is a regular file."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import ELOOP, ENXIO
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link that another user could have made",
}
_MAX_LINKS = 8
_ADVICE = "write the path of a regular file, or one of capture, inherit, discard, syslog and journal"


class RefusedOutput(OSError):
    """An output is not a regular file."""


def open_output(path: str, uid: int, umask: int | None, *, follows_own_links: bool) -> int:
    """Open a file for appending; create it if it does not exist. The caller closes it.

    Args:
        path: Path of the file.
        uid: User whose file operations this thread has.
        umask: Mask of a new file; None for that of the worker.
        follows_own_links: Whether a symlink is followed that only this user or root can have made.

    Raises:
        RefusedOutput: The path is a FIFO, a device, a socket, a directory or a symlink.
        OSError: The user has no permission, or a directory does not exist.
    """
    path = _followed(path, uid) if follows_own_links else path
    with suppress(FileNotFoundError):  # a new file
        _check_kind(path, os.lstat(path).st_mode)
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        file, is_new = _open(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (ELOOP, ENXIO):  # it has become a symlink or a FIFO in between
            raise RefusedOutput(f"{path} is not a regular file: {_ADVICE}") from None
        raise
    try:
        _check_kind(path, os.fstat(file).st_mode)
        if is_new and umask is not None:
            os.fchmod(file, 0o666 & ~umask)
        os.set_blocking(file, True)
    except OSError:
        os.close(file)
        raise
    return file


def _open(path: str, flags: int) -> tuple[int, bool]:
    """Return the open file, and whether it is new."""
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:  # also for a symlink, which O_EXCL does not follow
        return os.open(path, flags | os.O_CREAT, 0o666), False


def _check_kind(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise RefusedOutput(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'not a regular file')}: {_ADVICE}")


def _followed(path: str, uid: int) -> str:
    """Return the path at the end of links, as far as only this user or root can have made them."""
    for _ in range(_MAX_LINKS):
        if not _is_own_link(path, uid):
            break
        path = str(Path(path).parent / Path(path).readlink())
    return path


def _is_own_link(path: str, uid: int) -> bool:
    trusted = 0, uid
    try:
        link, folder = os.lstat(path), Path(path).absolute().parent.stat()
    except OSError:
        return False
    is_link = stat.S_ISLNK(link.st_mode)
    return is_link and link.st_uid in trusted and folder.st_uid in trusted and not folder.st_mode & 0o022
