"""The two nights of 2026 in which the clocks of Berlin change: what Debian's cron runs, and what Kron runs."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.tzdata import host_zone_file
from tests.campaigns.debian_cron.daemon import runs

BERLIN = "Europe/Berlin"
FIELDS = (  # of the lines that are shown: each must be imported
    *("0 2 * * *", "30 2 * * *", "0 3 * * *", "30 1-3 * * *", "0,30 2 * * *", "0 2,3 * * *", "0 0-23 * * *"),
    *("0 * * * *", "@hourly", "*/15 * * * *", "*/15 2 * * *"),
)


class Night(NamedTuple):
    """A night from 00:30 until before 04:30, as seconds since 1970."""

    name: str
    start: int
    end: int


class NightRuns(NamedTuple):
    """The runs of a line in a night, each as the beginning of its minute."""

    night: str
    fields: str
    of_cron: list[int]
    of_kron: list[int]


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


NIGHTS = (
    Night("gap", _at("2026-03-29T00:30:00+01:00"), _at("2026-03-29T04:30:00+02:00")),
    Night("fold", _at("2026-10-25T00:30:00+02:00"), _at("2026-10-25T04:30:00+01:00")),
)


def night_runs(binary: Path, schedules: dict[str, Schedule]) -> Iterable[NightRuns]:
    """Yield what cron and Kron run in both nights.

    Args:
        binary: cron, built with the shim.
        schedules: The schedules that were imported, by the fields of their lines. Each line is alone in its crontab.
    """
    for night in NIGHTS:
        for fields in FIELDS:
            (of_cron,) = runs(binary, [fields], BERLIN, night.start, night.end)
            of_kron = list(nominals(schedules[fields], night.start - 1, night.end - 1))
            yield NightRuns(night.name, fields, of_cron, of_kron)


def shown(times: Iterable[int]) -> str:
    """Return instants as local times of Berlin, with `*` in summer time."""
    rules = host_zone_file(BERLIN).rules
    local_times = [datetime.fromtimestamp(at, rules) for at in times]
    return " ".join(f"{each:%H:%M}{'*' if each.dst() else ''}" for each in local_times)
