"""Place: the folders, the state file and the socket of one daemon, and which of its tables are meant."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from kron.apps.host.account import own_account
from kron.apps.host.spool import SpoolFolder
from kron.apps.host.tables import SHADOW_TARGET, TARGET, TableFolder
from kron.errors import InvalidInput

SOCKET_NAME = "krond.sock"
HOST_CONFIG, HOST_STATE_FOLDER = Path("/etc/krond.d"), Path("/var/lib/krond")
HOST_SPOOL, HOST_SOCKET = Path("/var/spool/krond"), Path("/run/krond", SOCKET_NAME)


@dataclass(frozen=True, slots=True)
class Place:
    """A daemon of this host.

    Attributes:
        config: Folder of the tables. It is a part of the identities of their jobs.
        state: SQLite file of the records.
        user: Whether this is the daemon of one user, and not of the host.
        spool: Folder of the users' tables; None if there is none.
        only: User whose table in the spool is meant alone; empty for all tables. `config` is then the spool.
        socket: Control socket.
        shadow: Whether the daemon starts nothing.
    """

    config: Path
    state: Path
    user: bool = False
    spool: Path | None = None
    only: str = ""
    socket: Path | None = None
    shadow: bool = False

    @property
    def target(self) -> str:
        """Target of the jobs of the tables."""
        return SHADOW_TARGET if self.shadow else TARGET

    @property
    def folder(self) -> TableFolder:
        """Folder that tables are written to."""
        if self.only:
            return SpoolFolder(self.config, {0}, target=self.target, only=self.only)
        if self.user:
            return TableFolder(self.config, {0, os.geteuid()}, own_account(), self.target)
        return TableFolder(self.config, {0}, target=self.target)

    @property
    def folders(self) -> tuple[TableFolder, ...]:
        """All folders that have tables."""
        if self.spool is None:
            return (self.folder,)
        return (self.folder, SpoolFolder(self.spool, {0}, target=self.target))

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Texts that the identities of the jobs begin with."""
        if self.only:
            return (f"{self.config}/{self.only}:",)
        return (f"{self.config}/",) if self.spool is None else (f"{self.config}/", f"{self.spool}/")

    def short(self, identity: str) -> str:
        """Return an identity or the path of a table as a user writes it: without the folder of the tables."""
        return identity.removeprefix(f"{self.config}/")

    def long(self, name: str) -> str:
        """Return the identity or the path that a short one stands for."""
        return name if name.startswith("/") else f"{self.config}/{name}"

    def of_user(self, name: str) -> Place:
        """Return the place of one user's table.

        Raises:
            InvalidInput: This daemon has no users' tables.
        """
        if self.spool is None:
            hint = "use krond --user, or start the krond of the host with --spool DIR"
            raise InvalidInput("NO_SPOOL", "this krond has no tables of users", hint=hint)
        return replace(self, config=self.spool, spool=None, only=name)


def place_of(
    config: str | None,
    state: str | None,
    spool: str | None = None,
    socket: str | None = None,
    *,
    user: bool,
    shadow: bool = False,
) -> Place:
    """Return the place that the options of a command line mean. None means that an option is not given.

    A daemon with other folders than the default has neither the default spool nor the default socket. A shadow daemon
    has a socket of its own, and creates no spool.
    """
    default_config, default_state = default_paths(user=user, shadow=shadow)
    state_path = Path(state or default_state).absolute()
    has_spool = not user and (not config or Path(config) == HOST_CONFIG) and (not shadow or HOST_SPOOL.exists())
    is_default = state_path == default_state and not shadow
    default_socket = _default_socket(user=user) if is_default else state_path.parent / SOCKET_NAME
    return Place(
        Path(config or default_config).absolute(),
        state_path,
        user,
        Path(spool).absolute() if spool else HOST_SPOOL if has_spool else None,
        socket=Path(socket or default_socket).absolute(),
        shadow=shadow,
    )


def default_paths(*, user: bool, shadow: bool = False) -> tuple[Path, Path]:
    """Return the default folder of tables and the default state file, of the host or of this user.

    A shadow daemon has the same tables, and a state folder of its own.
    """
    state_name = Path("shadow", "state.db") if shadow else Path("state.db")
    if not user:
        return HOST_CONFIG, HOST_STATE_FOLDER / state_name
    config_home = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    state_home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(config_home, "krond"), Path(state_home, "krond") / state_name


def _default_socket(*, user: bool) -> Path:
    if not user:
        return HOST_SOCKET
    runtime_folder = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime_folder, SOCKET_NAME) if runtime_folder else default_paths(user=True)[1].parent / SOCKET_NAME
