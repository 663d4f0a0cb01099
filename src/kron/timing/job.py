"""Job: the definition of a schedule, with its identity, its target, its data and the text that its author wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kron.timing.schedule import Schedule

MAX_GRACE = 3_600_000_000_000  # nanoseconds: an hour


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
    stdin: str | None = None  # `payload`: the payload of the job, as JSON; None: nothing
    grace: int | None = None  # nanoseconds between SIGTERM and SIGKILL, at most MAX_GRACE
    notify: tuple[tuple[str, str], ...] = ()  # targets such as `mail:root`, each with its occasions


@dataclass(frozen=True, slots=True)
class Webhook:
    """How a webhook is sent, where it differs from the default: a signed POST that any 2xx status accepts."""

    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()  # in addition to those of Kron
    success: str = "200-299"  # status codes that accept the run: codes and ranges, separated by commas


@dataclass(frozen=True, slots=True)
class Source:
    """Source text of a schedule: what its author wrote. It is shown to people; no decision reads it.

    Six fields of the service dialect start with the seconds, whatever the setting of the service that read them.
    """

    text: str
    dialect: str
    zone: str | None = None  # time zone that applies to the text; None if the text names one


@dataclass(frozen=True, slots=True)
class Job:
    """The definition of a schedule: identity, schedule, target, payload, labels and source text.

    This is the only type that holds a definition. Files, requests and rows are read into it and written from it. The
    identity is an input of every decision and of every idempotency key, so it must not change.
    """

    identity: str
    schedule: Schedule
    name: str = ""
    description: str = ""
    command: Command | None = None
    target: str = ""  # URL-like; its scheme selects the launcher
    start: int | None = None  # second; only periods strictly after it are valid
    end: int | None = None  # second; only periods not later than it are valid
    source: Source | None = None  # None: the schedule was not built from one text
    payload: str | None = None  # JSON value for the target, as `payload_text` writes it
    labels: tuple[tuple[str, str], ...] = ()  # keys and values, ordered by key
    webhook: Webhook | None = None

    def same_definition(self, other: Job) -> bool:
        """Return whether `other` is the same definition, so that no new revision is needed.

        Another source text is another definition, even if both texts mean the same schedule. A job without a source
        text says nothing about the text: it is the same definition as one with any text.
        """
        if self.source is None or other.source is None:
            return replace(self, source=None) == replace(other, source=None)
        return self == other
