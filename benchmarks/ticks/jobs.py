"""The schedules of the benchmark: 200 expressions, 20 zones, a tenth with windows, all of them due at a full hour."""

from __future__ import annotations

from kron import parse
from kron.timing.job import Job

EXPRESSIONS = [
    *(f"0,{n} * * * *" for n in range(1, 60)),
    *(f"0-{n} * * * *" for n in range(1, 60)),
    *(f"*/{n} * * * *" for n in (2, 3, 4, 5, 6, 10, 12, 15, 20, 30)),
    *(f"0,{n},{n + 10} * * * *" for n in range(1, 49)),
    *(f"0-{n}/2 * * * *" for n in range(10, 34)),
]
ZONES = [
    *("UTC", "Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Madrid", "Europe/Rome", "Europe/Athens"),
    *("Africa/Cairo", "Africa/Lagos", "Asia/Tokyo", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore"),
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo"),
    *("Australia/Brisbane", "Pacific/Auckland"),
]
KINDS = len(EXPRESSIONS) * len(ZONES)  # after so many they are the same again
TARGET = "http://localhost/"
START = 1_800_000_000 // 3600 * 3600


def a_job(n: int, tenant: str = "bench") -> Job:
    """The nth schedule."""
    text = f"{EXPRESSIONS[n % 200]} @tz({ZONES[n // 200 % len(ZONES)]})"
    window = " @win(after,500ms)" if n % 10 == 0 else ""  # decided in full, and due in the same second
    return Job(f"{tenant}/schedule-{n:08d}", parse(text + window, dialect="kron"), target=TARGET)
