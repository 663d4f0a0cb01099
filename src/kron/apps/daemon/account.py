"""Account: the user that a user's tables belong to."""

from __future__ import annotations

import os
from typing import NamedTuple


class Account(NamedTuple):
    """A user, by name and number, with the groups that a login has."""

    name: str
    uid: int
    groups: frozenset[str]  # names and numbers

    def is_user(self, text: str) -> bool:
        """Return whether a name or number of a table is this user."""
        return text in (self.name, str(self.uid))

    def has_group(self, text: str) -> bool:
        """Return whether a name or number of a table is a group of this user."""
        return text in self.groups


def own_account() -> Account:
    """Return the account of this process."""
    import grp  # not available on every system
    import pwd

    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
        name, ids = entry.pw_name, os.getgrouplist(entry.pw_name, entry.pw_gid)
    except KeyError:  # a container can run as a number that has no name
        name, ids = str(uid), [os.getegid(), *os.getgroups()]
    groups = set(map(str, ids))
    for group_id in ids:
        try:
            groups.add(grp.getgrgid(group_id).gr_name)
        except KeyError:
            continue
    return Account(name, uid, frozenset(groups))
