"""Tables: the krontab files of a folder. A table is used as a whole, or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from kron.apps.host.account import Account
from kron.apps.host.table_file import Signature, open_folder, read_file, signatures_of, text_of
from kron.errors import InvalidSchedule, KronError
from kron.language.fault import Fault
from kron.language.krontab import Line, read_table
from kron.language.quoting import spans
from kron.launchers.shadow import SHADOW_SCHEME
from kron.timing.job import Command, Job

TARGET = "command:"  # target of every job of a table
SHADOW_TARGET = f"{SHADOW_SCHEME}:"  # target of every job of a table that a shadow daemon reads
MAX_NAMES = 10_000  # entries of the folder
MAX_JOBS = 100_000  # jobs of all tables together
_NAME = re.compile(r"[A-Za-z0-9_-]+")  # as run-parts: no copies of editors and package managers
_VERSIONS = ".."  # how the names of the folders begin in which Kubernetes keeps the versions of a ConfigMap


def is_table_name(name: str) -> bool:
    """Return whether a file of this name is a table."""
    return _NAME.fullmatch(name) is not None


class Table(NamedTuple):
    """A table as it was last read: its jobs, or the reasons why it is not used.

    Attributes:
        path: Path of the file.
        jobs: Jobs of a table that is used.
        problems: Reasons why the table is not used.
        is_void: Whether no job of its last valid version may stay in force.
        changed: When the file was changed or put in its place, in milliseconds.
    """

    path: str
    jobs: tuple[Job, ...] = ()
    problems: tuple[KronError, ...] = ()
    is_void: bool = False
    changed: int = 0


class _Facts(NamedTuple):
    """What a table depends on: its file, the user that it belongs to, and what is wrong with that user."""

    signatures: tuple[Signature, ...]
    account: Account | None
    trouble: str = ""


class Scan(NamedTuple):
    """Tables of a folder by path, and the names of files that are not tables."""

    tables: Mapping[str, Table]
    ignored: tuple[str, ...] = ()


@dataclass
class TableFolder:
    """Folder of tables. A file is read again only if it has changed.

    Attributes:
        path: Absolute path of the folder. It is part of the identity of every job.
        owners: User ids that the folder and its files can belong to.
        account: User that all jobs run as, if these are the tables of one user; None if jobs can have any user.
        target: Target of the jobs.
    """

    path: Path
    owners: Collection[int]
    account: Account | None = None
    target: str = TARGET
    known: dict[str, tuple[_Facts, Table]] = field(default_factory=dict)  # by name
    mode = 0o644  # of a new file

    def is_table(self, name: str) -> bool:
        """Return whether a file of this name is a table that is read."""
        return is_table_name(name)

    def account_of(self, name: str) -> Account | None:
        """Return the user that all jobs of a table run as; None if jobs can have any user."""
        return self.account

    def is_void(self, problems: Sequence[KronError]) -> bool:
        """Return whether no job of a refused table may stay in force. Otherwise its last valid version stays."""
        return False

    def scan(self) -> Scan:
        """Return the tables of the folder.

        Raises:
            KronError: The folder cannot be read, other users can change it, or it has too many files.
        """
        folder = open_folder(str(self.path), self.owners)
        try:
            names = self._names(folder)
            table_names = [name for name in names if self.is_table(name)]
            self.known = {name: known for name in table_names if (known := self._read(folder, name)) is not None}
        finally:
            os.close(folder)
        ignored = tuple(name for name in names if not self.is_table(name) and not name.startswith(_VERSIONS))
        return Scan({table.path: table for table in self._within_limit()}, ignored)

    def check(self, name: str, content: bytes) -> Table:
        """Return the table that a file of this name and content would be."""
        path = str(self.path / name)
        try:
            return self._parsed(self._text(content, path), path, self.account_of(name))
        except KronError as error:
            return self._refused(path, error)

    def _names(self, folder: int) -> list[str]:
        names = list[str]()
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > MAX_NAMES:
                    message = f"{self.path} has more than {MAX_NAMES:,} files"
                    raise InvalidSchedule("TOO_LONG", message, hint="use a folder that has only tables")
        return sorted(names)

    def _read(self, folder: int, name: str) -> tuple[_Facts, Table] | None:
        """Return a table with the facts that it depends on; None if the file has vanished."""
        try:
            signatures = signatures_of(folder, name)
        except FileNotFoundError:
            return None
        known, path = self.known.get(name), str(self.path / name)
        try:
            account = self.account_of(name)
        except KronError as error:
            facts = _Facts(signatures, None, error.code)
            return known if known and known[0] == facts else (facts, self._refused(path, error))
        facts = _Facts(signatures, account)
        if known and known[0] == facts:
            return known
        changed = max(signature.changed for signature in signatures) // 1_000_000
        return facts, self._table(folder, name, path, account)._replace(changed=changed)

    def _table(self, folder: int, name: str, path: str, account: Account | None) -> Table:
        owners = self.owners if account is None else {*self.owners, account.uid}
        try:
            return self._parsed(self._text(read_file(folder, name, path, owners), path), path, account)
        except KronError as error:
            return self._refused(path, error)

    def _refused(self, path: str, *problems: KronError) -> Table:
        return Table(path, (), problems, self.is_void(problems))

    def _text(self, content: bytes, path: str) -> str:
        return text_of(content, path)

    def _parsed(self, text: str, path: str, account: Account | None) -> Table:
        parsed = read_table(text, path)
        problems = [*parsed.errors, *self._line_errors(parsed.lines, text, path, account)]
        if problems:
            return self._refused(path, *problems)
        return Table(path, tuple(self._job(job, account) for job in parsed.jobs))

    def _line_errors(
        self, lines: tuple[Line, ...], text: str, path: str, account: Account | None
    ) -> Iterator[KronError]:
        """Yield an error for each value of a user's table that is not allowed there."""
        if account is None:
            return
        line_texts = text.split("\n")
        for line in lines:
            line_text = line_texts[line.number - 1].removesuffix("\r")
            for key, message, hint in self._refusals(line.job.command, account):
                yield _fault(line, key, line_text, message, hint).within(line_text, path, line.number)

    def _refusals(self, command: Command | None, account: Account) -> Iterator[tuple[str, str, str]]:
        """Yield the key, the reason and the hint of each value that a job of a user's table cannot have."""
        values = () if command is None else (("user", command.user), ("group", command.group))
        for key, value in values:
            is_own = account.is_user if key == "user" else account.has_group
            if value is not None and not is_own(value):
                reason = f"{key} is not allowed: the jobs of this table run as the user that the table belongs to"
                yield key, reason, f"remove {key}="

    def _job(self, job: Job, account: Account | None) -> Job:
        """Return a job of a table as it is installed."""
        return replace(job, target=self.target)

    def _within_limit(self) -> Iterator[Table]:
        """Yield the tables in the order of their names. Those beyond the limit on jobs are not used."""
        count = 0
        for _, table in self.known.values():
            count += len(table.jobs)
            if table.jobs and count > MAX_JOBS:
                count -= len(table.jobs)
                message = f"{table.path} is not used: the tables have more than {MAX_JOBS:,} jobs"
                yield Table(table.path, problems=(InvalidSchedule("TOO_LONG", message, hint="remove jobs"),))
            else:
                yield table


def _fault(line: Line, key: str, text: str, message: str, hint: str) -> Fault:
    """Return the fault of a line that has a value which is not allowed in a user's table."""
    offset = len(text) - len(line.rest)
    start, end = next(span for span in spans(line.rest) if line.rest.startswith(f"{key}=", *span))
    return Fault("FOREIGN_USER", message, offset + start, offset + end, hint)
