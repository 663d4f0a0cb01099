"""Tables: the krontab files of a folder. A table is used as a whole, or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from kron.apps.daemon.account import Account
from kron.apps.daemon.table_file import Signature, open_folder, read_file, signature_of, text_of
from kron.errors import InvalidSchedule, KronError
from kron.language.fault import Fault
from kron.language.krontab import Line, read_table
from kron.language.quoting import spans
from kron.launchers.shadow import SHADOW_SCHEME
from kron.timing.job import Job

TARGET = "command:"  # target of every job of a table
SHADOW_TARGET = f"{SHADOW_SCHEME}:"  # target of every job of a table that a shadow daemon reads
MAX_NAMES = 10_000  # entries of the folder
MAX_JOBS = 100_000  # jobs of all tables together
_NAME = re.compile(r"[A-Za-z0-9_-]+")  # as run-parts: no copies of editors and package managers


def is_table_name(name: str) -> bool:
    """Return whether a file of this name is a table."""
    return _NAME.fullmatch(name) is not None


class Table(NamedTuple):
    """A table as it was last read: its jobs, or the reasons why it is not used."""

    path: str
    jobs: tuple[Job, ...] = ()
    problems: tuple[KronError, ...] = ()


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
    known: dict[str, tuple[Signature, Table]] = field(default_factory=dict)  # by name

    def scan(self) -> Scan:
        """Return the tables of the folder.

        Raises:
            KronError: The folder cannot be read, other users can change it, or it has too many files.
        """
        folder = open_folder(str(self.path), self.owners)
        try:
            names = self._names(folder)
            table_names = [name for name in names if is_table_name(name)]
            self.known = {name: known for name in table_names if (known := self._read(folder, name)) is not None}
        finally:
            os.close(folder)
        ignored = tuple(name for name in names if not is_table_name(name))
        return Scan({table.path: table for table in self._within_limit()}, ignored)

    def check(self, name: str, content: bytes) -> Table:
        """Return the table that a file of this name and content would be."""
        path = str(self.path / name)
        try:
            return self._parsed(text_of(content, path), path)
        except KronError as error:
            return Table(path, problems=(error,))

    def _names(self, folder: int) -> list[str]:
        names = list[str]()
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > MAX_NAMES:
                    message = f"{self.path} has more than {MAX_NAMES:,} files"
                    raise InvalidSchedule("TOO_LONG", message, hint="use a folder that has only tables")
        return sorted(names)

    def _read(self, folder: int, name: str) -> tuple[Signature, Table] | None:
        """Return a table with the signature of its file; None if the file has vanished."""
        try:
            signature = signature_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None
        known = self.known.get(name)
        if known is not None and known[0] == signature:
            return known
        return signature, self._table(folder, name)

    def _table(self, folder: int, name: str) -> Table:
        path = str(self.path / name)
        try:
            return self._parsed(read_file(folder, name, path, self.owners), path)
        except KronError as error:
            return Table(path, problems=(error,))

    def _parsed(self, text: str, path: str) -> Table:
        parsed = read_table(text, path)
        problems = [*parsed.errors, *self._account_errors(parsed.lines, text, path)]
        if problems:
            return Table(path, problems=tuple(problems))
        return Table(path, tuple(replace(job, target=self.target) for job in parsed.jobs))

    def _account_errors(self, lines: tuple[Line, ...], text: str, path: str) -> Iterator[KronError]:
        """Yield an error for each job of a user's table that would run as another user or group."""
        if self.account is None:
            return
        line_texts = text.split("\n")
        for line in lines:
            command, line_text = line.job.command, line_texts[line.number - 1].removesuffix("\r")
            if command is not None and command.user is not None and not self.account.is_user(command.user):
                yield _foreign(line, "user", line_text).within(line_text, path, line.number)
            if command is not None and command.group is not None and not self.account.has_group(command.group):
                yield _foreign(line, "group", line_text).within(line_text, path, line.number)

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


def _foreign(line: Line, key: str, text: str) -> Fault:
    """Return the fault of a line whose user or group is not allowed in a user's table."""
    offset = len(text) - len(line.rest)
    start, end = next(span for span in spans(line.rest) if line.rest.startswith(f"{key}=", *span))
    message = f"{key} is not allowed: the jobs of this table run as the user that the table belongs to"
    return Fault("FOREIGN_USER", message, offset + start, offset + end, f"remove {key}=")
