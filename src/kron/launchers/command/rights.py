"""User rights of a host command. User, group and supplementary groups change together, or none of them changes."""

from __future__ import annotations

import os
from typing import NamedTuple


class Rights(NamedTuple):
    """A user with the groups that a login would have."""

    name: str
    home: str
    uid: int
    gid: int
    groups: list[int]

    @property
    def foreign(self) -> bool:
        """Whether the user is not the worker's user."""
        return self.uid != os.geteuid()


def rights_of(user: str | None, group: str | None) -> Rights | None:
    """Return the rights of a user and a group, given by name or number; None if they are the worker's own.

    The kernel rejects rights that the worker is not allowed to take.

    Raises:
        LookupError: The user or the group is unknown.
    """
    if user is None and group is None:
        return None
    import grp  # not available on every system
    import pwd

    if user is None:
        entry = pwd.getpwuid(os.geteuid())
    else:
        entry = pwd.getpwuid(int(user)) if _is_number(user) else pwd.getpwnam(user)
    gid = entry.pw_gid if group is None else int(group) if _is_number(group) else grp.getgrnam(group).gr_gid
    if entry.pw_uid == os.geteuid() != 0 and gid == os.getegid():
        return None
    return Rights(entry.pw_name, entry.pw_dir, entry.pw_uid, gid, os.getgrouplist(entry.pw_name, gid))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
