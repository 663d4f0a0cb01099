"""Job: an identity, its schedule, and its target."""

from __future__ import annotations

from dataclasses import dataclass

from kron.timing.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Command:
    """Host command of a krontab line. None means the daemon's default."""

    line: str
    user: str | None = None
    group: str | None = None
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    shell: str | None = None
    umask: int | None = None
    timeout: int | None = None  # nanoseconds
    stdout: str | None = None
    stderr: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A schedule with identity and target.

    The identity is an input of every decision and of every idempotency key, so it must not change.
    """

    identity: str
    schedule: Schedule
    name: str = ""
    description: str = ""
    command: Command | None = None
    target: str = ""  # URL-like; its scheme selects the launcher
    start: int | None = None  # second; only periods strictly after it are valid
    end: int | None = None  # second; only periods not later than it are valid
