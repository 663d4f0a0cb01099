"""Account: the user that a user's tables belong to."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kron.errors import InvalidInput

SHADOW = Path("/etc/shadow")
DAY_SECONDS = 86_400
_EXPIRY_FIELD = 7  # of a line of the shadow file: days since 1970-01-01


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
    uid = os.geteuid()
    try:
        return account_of(uid)
    except InvalidInput:  # a container can run as a number that has no name
        return Account(str(uid), uid, _group_names([os.getegid(), *os.getgroups()]))


def account_of(user: int | str) -> Account:
    """Return the account of a user id or of a user name.

    Raises:
        InvalidInput: There is none.
    """
    import pwd  # not available on every system

    try:
        entry = pwd.getpwuid(user) if isinstance(user, int) else pwd.getpwnam(user)
    except KeyError:
        label = f"id {user}" if isinstance(user, int) else repr(user)
        hint = "create the account, or remove its table; getent passwd shows the accounts"
        raise InvalidInput("NO_ACCOUNT", f"user {label} has no account on this host", hint=hint) from None
    name = entry.pw_name if isinstance(user, int) else user
    return Account(name, entry.pw_uid, _group_names(os.getgrouplist(name, entry.pw_gid)))


def expired_names(shadow: Path = SHADOW) -> frozenset[str]:
    """Return the names of the accounts that have expired. Without the right to read them, none has."""
    today, names = int(time.time()) // DAY_SECONDS, set[str]()
    with suppress(OSError):
        for line in shadow.read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(":")
            with suppress(ValueError, IndexError):  # most accounts never expire: their field is empty
                if 0 <= int(fields[_EXPIRY_FIELD]) <= today:
                    names.add(fields[0])
    return frozenset(names)


def _group_names(ids: list[int]) -> frozenset[str]:
    import grp

    groups = set(map(str, ids))
    for group_id in ids:
        try:
            groups.add(grp.getgrgid(group_id).gr_name)
        except KeyError:
            continue
    return frozenset(groups)
