"""Spool: the folder of the users' tables. Each user has one table, and the file has the name of the user.

The folder belongs to root, and no one else can read it: a user installs a table through the control socket. A table of
a user whose account has vanished or expired is withdrawn, and so is a file that another user owns: none of their jobs
stays in force, because they would run for a user who has not installed them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kron.apps.host.account import SHADOW, Account, account_of, expired_names
from kron.apps.host.table_file import text_of
from kron.apps.host.tables import Scan, Table, TableFolder
from kron.errors import InvalidInput, InvalidSchedule, KronError
from kron.language.output_form import Form, output_form
from kron.timing.job import Command, Job

MAX_USER_JOBS = 1_000
MAX_USER_BYTES = 1 << 20
_OUTPUTS_OF_ROOT = frozenset({Form.INHERIT, Form.JOURNAL})
_USER_NAME = re.compile(r"(?![0-9]+$)[A-Za-z0-9_][A-Za-z0-9_.@-]{0,254}")  # a number would be read as a user id


@dataclass
class SpoolFolder(TableFolder):
    """Folder of users' tables.

    Attributes:
        only: User whose table is read alone; empty for all users.
        shadow: File that has the dates on which accounts expire.
        expired: Names of the accounts that had expired when the folder was last read.
    """

    only: str = ""
    shadow: Path = SHADOW
    expired: frozenset[str] = field(default_factory=frozenset)
    mode = 0o600

    def scan(self) -> Scan:
        """Return the tables of the users.

        Raises:
            KronError: The folder cannot be read, or other users can change it.
        """
        self.expired = expired_names(self.shadow)
        return super().scan()

    def check(self, name: str, content: bytes) -> Table:
        """Return the table that a file of this name and content would be."""
        self.expired = expired_names(self.shadow)
        return super().check(name, content)

    def is_table(self, name: str) -> bool:
        """Return whether a file of this name is a table that is read."""
        return name == self.only if self.only else _USER_NAME.fullmatch(name) is not None

    def account_of(self, name: str) -> Account | None:
        """Return the user that a table belongs to.

        Raises:
            InvalidInput: The account does not exist, or has expired.
        """
        account = account_of(name)
        if name in self.expired:
            hint = f"renew it with chage -E -1 {name}, or remove the table"
            raise InvalidInput("ACCOUNT_EXPIRED", f"the account of user {name!r} has expired", hint=hint)
        return account

    def is_void(self, problems: Sequence[KronError]) -> bool:
        """Return whether no job of a refused table may stay in force: the problem is the user or the file."""
        return any(isinstance(each, InvalidInput) and not isinstance(each, InvalidSchedule) for each in problems)

    def _refusals(self, command: Command | None, account: Account) -> Iterator[tuple[str, str, str]]:
        """Yield also the outputs that would show the text of a user as the text of the daemon."""
        yield from super()._refusals(command, account)
        values = () if command is None else (("stdout", command.stdout), ("stderr", command.stderr))
        for key, value in values:
            if output_form(value).form in _OUTPUTS_OF_ROOT:
                reason = f"{key}={value} is not allowed: the log would show the output as that of krond"
                yield key, reason, f"write {key}=capture, {key}=syslog or {key}=file:/path"

    def _parsed(self, text: str, path: str, account: Account | None) -> Table:
        table = super()._parsed(text, path, account)
        if len(table.jobs) <= MAX_USER_JOBS:
            return table
        message = f"{path} has {len(table.jobs):,} jobs; a user can have {MAX_USER_JOBS:,}"
        return Table(path, problems=(InvalidSchedule("TOO_LONG", message, hint="remove jobs"),))

    def _text(self, content: bytes, path: str) -> str:
        if len(content) > MAX_USER_BYTES:
            message = f"{path} is larger than {MAX_USER_BYTES >> 20} MiB"
            raise InvalidSchedule("TOO_LONG", message, hint="remove jobs or comments")
        return text_of(content, path)

    def _job(self, job: Job, account: Account | None) -> Job:
        """Return a job that runs as its user.

        The user is given by number: an account that is created again under the same name has another one.
        """
        if account is None or job.command is None:  # neither can be: without a user, the command would run as root
            raise InvalidInput("NO_ACCOUNT", f"job {job.name!r} has no user", hint="remove the job")
        command: Command = replace(job.command, user=str(account.uid))
        return super()._job(replace(job, command=command), account)


def make_spool(path: Path) -> None:
    """Create the folder, if it does not exist. Only root can read it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
