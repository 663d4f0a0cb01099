"""Debian's cron as a process with a simulated clock: which line of a crontab it runs, and when."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kron.timing.tzdata import host_databases

EARLIER = 600  # seconds that cron starts before the interval; it runs nothing in the minute in which it starts
TIMEOUT = 1_200  # seconds; a year takes one or two on a free core


class Rejected(Exception):
    """cron ignores the crontab, because it rejects a line."""


def runs(
    binary: Path, lines: Sequence[str], timezone: str, start: int, end: int, *, skip: bool = False
) -> list[list[int]]:
    """Return the runs of each line in an interval, as cron does them.

    Args:
        binary: cron, built with the shim.
        lines: Five fields or a macro each; all are in one crontab.
        timezone: Time zone of the machine.
        start: First second of the interval.
        end: First second after the interval.
        skip: Whether the clock jumps over months that no line names.

    Returns:
        For each line the minutes of its runs, in order, as the epoch second of their beginning. A line that cron runs
        several times in a minute has this minute several times.

    Raises:
        Rejected: cron rejects a line, and so the whole crontab.
    """
    with tempfile.TemporaryDirectory(prefix="kron-debian-cron-") as name:
        _write_crontab(Path(name), lines)
        clock = {"CRON_START": str(start - EARLIER), "CRON_END": str(end)}
        environment = {"TZ": f":{_zone_file(Path(name), timezone)}", **clock, **({"CRON_SKIP": "1"} if skip else {})}
        command = [str(binary), "-f"]
        done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode or "ERROR" in done.stderr:
        raise Rejected(done.stderr.strip())
    minutes: list[list[int]] = [[] for _ in lines]
    for record in done.stdout.splitlines():
        instant, number = record.split()
        minutes[int(number)].append(int(instant) // 60 * 60)
    return [[minute for minute in of_line if minute >= start] for of_line in minutes]


def _zone_file(folder: Path, timezone: str) -> Path:
    """Write the zone file that Kron reads. The tz database of the C library can be older."""
    path = folder / "zone"
    for database in host_databases():
        with suppress(LookupError):
            path.write_bytes(database.read(timezone))
            return path
    raise LookupError(timezone)


def _write_crontab(folder: Path, lines: Sequence[str]) -> None:
    """Write the crontab of this user. The command of a line is its number."""
    import pwd  # not on Windows, where this file is imported too

    for name in ("crontabs", "cron.d"):
        (folder / name).mkdir()
    (folder / "system-crontab").touch()
    crontab = folder / "crontabs" / pwd.getpwuid(os.getuid()).pw_name
    crontab.write_text("".join(f"{line} {number}\n" for number, line in enumerate(lines)), encoding="ascii")
    crontab.chmod(0o600)
