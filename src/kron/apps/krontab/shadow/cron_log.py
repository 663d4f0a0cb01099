"""Cron log: the commands that cron started, and when cron itself was started."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kron.apps.krontab.shadow.pairing import MINUTE_MS
from kron.errors import InvalidSchedule
from kron.language.crontabs.log_line import MessageKind, is_cron, read_message
from kron.language.crontabs.log_time import LogLine
from kron.timing.zone import rfc3339

MAX_RECORDS = 500_000  # commands of the log, and periods of the store


class Task(NamedTuple):
    """What cron logs of a job: its user and its command."""

    user: str
    command: str


@dataclass
class CronLog:
    """What a log says about cron. All times are milliseconds.

    Attributes:
        first: Time of the first line of any program; None for an empty log.
        starts: Possible times of each start, by user and command.
        times: Times at which cron started a command, or was started itself, in order.
        startups: Times at which cron itself started, in order.
        busy: Minutes in which cron started a command.
        cut: Number of starts whose line has lost its end.
        unclear: Number of starts whose local time occurs twice, and stands for both instants.
    """

    first: int | None = None
    starts: dict[Task, list[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(list))
    times: list[int] = field(default_factory=list)
    startups: list[int] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)
    cut: int = 0
    unclear: int = 0

    def silence(self, minute: int) -> tuple[int | None, int | None]:
        """Return the last time before a minute at which cron started something, and the first one since then.

        Each is None if there is none.
        """
        position = bisect_left(self.times, minute * MINUTE_MS)
        return (self.times[position - 1] if position else None), next(iter(self.times[position : position + 1]), None)

    def has_startup(self, at: int) -> bool:
        """Return whether cron itself started at a time, or at most a second later."""
        position = bisect_left(self.startups, at)
        return position < len(self.startups) and self.startups[position] <= at + 1000


def read_log(lines: Iterable[LogLine], since: int) -> CronLog:
    """Return what the lines of a log say about cron.

    Args:
        lines: Lines in the order of the log.
        since: Lines that are older do not count, in milliseconds.

    Raises:
        InvalidSchedule: cron started too many commands.
    """
    log, count = CronLog(), 0
    for line in lines:
        at = line.instants[0]
        log.first = at if log.first is None else min(log.first, at)
        if at < since or not is_cron(line.program):
            continue
        message = read_message(line.message)
        count += 1
        if count > MAX_RECORDS:
            raise too_many("lines of cron", since)
        if message.kind is not MessageKind.OTHER:
            log.times.append(at)
        if message.kind is MessageKind.COMMAND:
            log.starts[Task(message.user, message.command)].append(line.instants)
            log.busy.update(each // MINUTE_MS for each in line.instants)
            log.unclear += len(line.instants) > 1
        elif message.kind is MessageKind.STARTUP:
            log.startups.append(at)
        log.cut += message.kind is MessageKind.CUT
    log.times.sort()
    log.startups.sort()
    return log


def too_many(noun: str, since: int) -> InvalidSchedule:
    """Return the error for more records than fit in memory."""
    message = f"there are more than {MAX_RECORDS:,} {noun} since {rfc3339(since // 1000)}"
    return InvalidSchedule("TOO_LONG", message, hint="use a later --since")
