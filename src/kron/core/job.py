"""A Job: an identity, its schedule, and what is to be run."""

from __future__ import annotations

from dataclasses import dataclass

from kron.core.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the host, as a krontab line gives it. None means that the daemon decides."""

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
    """What runs when. The identity seeds every decision and names every run, so it must not change."""

    identity: str
    schedule: Schedule
    name: str = ""
    description: str = ""
    command: Command | None = None
    target: str = ""  # where it is sent: the scheme names the launcher
    start: int | None = None  # periods strictly after this second
    end: int | None = None  # and not after this one
