"""The tz databases of this host: the files of the time zones, and their version.

A host can have two: the system's folder and the `tzdata` package. Kron reads the newer one, so that all Kron processes
of a host agree:

- If the system's folder does not state its version, Kron reads the package, whose version is known.
- If both have the same version, Kron reads the system's folder.
- If the environment variable `PYTHONTZPATH` is set, Kron reads its folders, whatever their version.
- A name that the first database lacks is read from the other one.
"""

from __future__ import annotations

import os
import re
import struct
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

NOT_ZONES = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
_MAGIC = b"TZif"
_HEADER_SIZE, _COUNTS_AT, _COUNTS = 44, 20, ">6l"  # of a block in a zone file: its size, and the place of six numbers
_VERSION = re.compile(rb"(?:# version )?([0-9]{4}[a-z]+)", re.ASCII)
_LINK = re.compile(rb"^L \S+ (\S+)$", re.ASCII | re.MULTILINE)
_VERSION_FILES = ("tzdata.zi", "+VERSION")  # most systems; BSD and macOS


class Changes(NamedTuple):
    """Instants at which the clocks of a zone can change.

    Attributes:
        listed: The instants that a zone file lists, in order, in seconds since 1970-01-01T00:00:00Z.
        repeats: Whether the clocks also change each year after the last of them, by a rule.
    """

    listed: tuple[int, ...]
    repeats: bool


class ZoneFile(NamedTuple):
    """Zone file (TZif) of the tz database.

    Attributes:
        rules: The rules in the file.
        changes: When they change the clocks.
        version: Version of its tz database, such as `2026f`, or `unknown`.
        fingerprint: 8 hex digits that identify the content of the file.
    """

    rules: zoneinfo.ZoneInfo
    changes: Changes
    version: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class TzDatabase:
    """One copy of the tz database.

    Attributes:
        root: Folder of the zone files, in a file system or in a ZIP file.
        version: IANA name of the version, such as `2026f`; None if the folder does not state it.
    """

    root: Traversable
    version: str | None

    def read(self, name: str) -> bytes:
        """Return the content of a zone file.

        Raises:
            LookupError: The database does not have the name.
        """
        try:
            content = self.root.joinpath(*name.split("/")).read_bytes()
        except (OSError, ValueError):
            raise LookupError(name) from None
        if not content.startswith(_MAGIC):
            raise LookupError(name)
        return content

    def zone_file(self, name: str) -> ZoneFile:
        """Return the zone file of a name.

        Raises:
            LookupError: The database does not have the name, or the file is damaged.
        """
        content = self.read(name)
        try:
            rules, changes = _Rules.from_file(BytesIO(content), key=name), _changes(content)
        except (ValueError, EOFError, struct.error):
            raise LookupError(name) from None
        return ZoneFile(rules, changes, self.version or "unknown", fingerprint_of(content))

    def names(self) -> frozenset[str]:
        """Return the names of all zones. This reads the whole folder."""
        return frozenset(_names_below(self.root, ""))

    def links(self) -> frozenset[str]:
        """Return the names that stand for another zone; empty if the folder does not list them."""
        try:
            content = self.root.joinpath("tzdata.zi").read_bytes()
        except OSError:
            return frozenset()
        return frozenset(match[1].decode() for match in _LINK.finditer(content))


def folder_database(root: Traversable) -> TzDatabase:
    """Return the tz database in a folder, with the version that its files state."""
    return TzDatabase(root, _stated_version(root))


def installed_database() -> TzDatabase | None:
    """Return the tz database of the `tzdata` package, or None if the package is not installed."""
    try:
        package = import_module("tzdata")
    except ImportError:
        return None
    from importlib.resources import files  # loaded only where it is needed, because it is slow to load

    return TzDatabase(files(package).joinpath("zoneinfo"), getattr(package, "IANA_VERSION", None))


def system_databases() -> tuple[TzDatabase, ...]:
    """Return the tz databases in the folders that `zoneinfo` searches."""
    return tuple(folder_database(Path(folder)) for folder in zoneinfo.TZPATH if Path(folder).is_dir())


@lru_cache(1)
def host_databases() -> tuple[TzDatabase, ...]:
    """Return the tz databases of this host in the order in which Kron searches them. The first call fixes the order."""
    return search_order(system_databases(), installed_database(), "PYTHONTZPATH" in os.environ)


def search_order(
    folders: tuple[TzDatabase, ...], package: TzDatabase | None, is_explicit: bool
) -> tuple[TzDatabase, ...]:
    """Return databases in the order in which Kron searches them.

    Args:
        folders: The databases of the system.
        package: The database of the `tzdata` package, or None.
        is_explicit: Whether the user named the folders, so that they come first whatever their version.
    """
    if package is None:
        return folders
    is_newer = bool(folders) and (package.version or "") > (folders[0].version or "")
    return (package, *folders) if is_newer and not is_explicit else (*folders, package)


def host_version() -> str:
    """Return the version of the tz database that Kron reads first; `unknown` if it states none or there is none."""
    return next((database.version or "unknown" for database in host_databases()), "unknown")


@lru_cache(1024)
def host_zone_file(name: str) -> ZoneFile:
    """Return the zone file of a name in the tz databases of this host.

    Raises:
        LookupError: No database has the name.
    """
    for database in host_databases():
        with suppress(LookupError):
            return database.zone_file(name)
    raise LookupError(name)


class _Rules(zoneinfo.ZoneInfo):
    """Rules of a zone file. Unlike a plain `ZoneInfo` of a file, they can be pickled and copied: by their name."""

    def __reduce__(self) -> tuple[Callable[[str], zoneinfo.ZoneInfo], tuple[str]]:
        return _host_rules, (self.key,)


def _host_rules(name: str) -> zoneinfo.ZoneInfo:
    return host_zone_file(name).rules


def fingerprint_of(content: bytes) -> str:
    """Return what identifies the rules of a zone: the first 8 hex digits of the SHA-256 of its zone file."""
    return sha256(content).hexdigest()[:8]


def _changes(content: bytes) -> Changes:
    """Return the changes in a zone file (RFC 9636). From version 2 on, a second block has 64-bit numbers and a rule."""
    utc, standard, leaps, times, types, names = struct.unpack_from(_COUNTS, content, _COUNTS_AT)
    if content[len(_MAGIC)] == 0:
        return Changes(struct.unpack_from(f">{times}i", content, _HEADER_SIZE), repeats=False)
    second = _HEADER_SIZE + times * 5 + types * 6 + names + leaps * 8 + standard + utc
    times = struct.unpack_from(_COUNTS, content, second + _COUNTS_AT)[3]
    rule = content.rstrip(b"\n").rpartition(b"\n")[2]
    return Changes(struct.unpack_from(f">{times}q", content, second + _HEADER_SIZE), repeats=b"," in rule)


def _stated_version(root: Traversable) -> str | None:
    for name in _VERSION_FILES:
        try:
            match = _VERSION.match(root.joinpath(name).read_bytes())
        except OSError:
            continue
        if match:
            return match[1].decode()
    return None


def _names_below(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if prefix or entry.name not in NOT_ZONES:
            if entry.is_dir():
                yield from _names_below(entry, f"{prefix}{entry.name}/")
            elif entry.read_bytes().startswith(_MAGIC):
                yield prefix + entry.name
