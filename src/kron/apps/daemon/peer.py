"""Peer: the user at the other end of a control socket, and what that user may do.

The kernel names the user. What the request says about its user is never asked.
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import NamedTuple

from kron.apps.host.account import Account, account_of
from kron.apps.host.place import Place
from kron.apps.host.table_file import open_folder, read_file, text_of
from kron.errors import AccessDenied, NotFound

GROUP = "krond"  # its members may do everything
ALLOW_NAME, DENY_NAME = "krond.allow", "krond.deny"
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class Peer(NamedTuple):
    """A user who asks, and whether that user may do everything."""

    account: Account
    is_privileged: bool

    def place(self, place: Place, owner: str) -> Place:
        """Return the part of a place that a request of this user is about.

        Args:
            place: The daemon.
            owner: User whose table the request names; empty if it names none.

        Raises:
            AccessDenied: The user may not do this.
            InvalidInput: The daemon has no users' tables.
        """
        name = self.account.name
        if self.is_privileged:
            return place.of_user(owner) if owner else place
        if owner not in ("", name):
            message = f"user {name!r} cannot use the table of user {owner[:50]!r}"
            raise AccessDenied("FORBIDDEN", message, hint=f"leave -u out, or ask root or a member of group {GROUP}")
        own_place = place.of_user(name)
        check_admission(place.config.parent, name)
        return own_place


def uid_of(connection: socket.socket) -> int:
    """Return the user id of the process that has opened a connection."""
    content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(content)[1])


def peer_of(uid: int, *, user: bool) -> Peer:
    """Return the user with an id.

    Args:
        uid: User id.
        user: Whether the daemon is that of one user, who may then do everything.

    Raises:
        InvalidInput: The user has no account.
        AccessDenied: The daemon is that of another user.
    """
    if user and uid not in (0, os.geteuid()):
        message = "this krond belongs to another user"
        raise AccessDenied("FORBIDDEN", message, hint="use the krond of the host, or start krond --user")
    account = account_of(uid)
    return Peer(account, user or uid == 0 or account.has_group(GROUP))


def check_admission(folder: Path, name: str) -> None:
    """Check the files that say who may use the users' tables, as cron does.

    If `krond.allow` exists, only the users that it names may. Otherwise, the users that `krond.deny` names may not.

    Raises:
        AccessDenied: The user may not.
        InvalidInput: Another user than root can change such a file.
    """
    allowed = _names(folder, ALLOW_NAME)
    if allowed is not None and name not in allowed:
        message = f"user {name!r} is not in {folder / ALLOW_NAME}"
        raise AccessDenied("FORBIDDEN", message, hint="ask root to add the name")
    if allowed is None and name in (_names(folder, DENY_NAME) or ()):
        raise AccessDenied("FORBIDDEN", f"user {name!r} is in {folder / DENY_NAME}", hint="ask root to remove the name")


def _names(folder: Path, name: str) -> frozenset[str] | None:
    """Return the names that a file has, one on each line; None if it does not exist."""
    path = folder / name
    if not os.path.lexists(path):
        return None
    descriptor = open_folder(str(folder), {0})
    try:
        text = text_of(read_file(descriptor, name, str(path), {0}), str(path))
    except NotFound:  # it has just been removed
        return None
    finally:
        os.close(descriptor)
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)
