"""`@reboot` in a krontab line: the job runs once per boot of the host. Only krond runs such jobs.

A boot is not a time. So the schedule of the job has one period, at the beginning of 1970, which is always past, and its
times are never searched. The period also marks the schedule wherever it is stored.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kron.language import kron, plus
from kron.language.fault import Fault
from kron.language.options import Options
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, MINUTE, Overlap
from kron.timing.zone import UTC_ZONE

WORD = "@reboot"
NEXT_BOOT = "at the next boot"  # when such a job runs, for people
_STARTS = re.compile(rf"[ \t]*{WORD}(?=[ \t]|$)")
_FIELDS = "0 0 * * *"  # stands for the word while the modifiers are read
# A host that boots is busy. A run of an earlier boot has no process, also if the record does not know that yet.
_POLICY = replace(KRON, overlap=Overlap.ALLOW, deadline=10 * MINUTE)
BOOT = replace(plus.read_schedule("at 1970-01-01T00:00Z", Options(UTC_ZONE)), policy=_POLICY)


def is_boot_text(text: str) -> bool:
    """Return whether the schedule of a krontab line is `@reboot`."""
    return _STARTS.match(text) is not None


def is_boot(schedule: Schedule) -> bool:
    """Return whether a job with this schedule runs once per boot."""
    return schedule.cron == BOOT.cron


def read_boot(text: str) -> Schedule:
    """Parse `@reboot`, which can have a policy and no other modifier.

    Raises:
        Fault: The text has another modifier, or something else after `@reboot`.
    """
    position = text.index(WORD)
    message, hint = f"{WORD} is not a time, so that only @policy can follow it", f"write {WORD}, or a time without it"
    fault = Fault("MACRO", message, position, len(text.rstrip(" \t")), hint)
    if text[position + len(WORD) :].lstrip(" \t")[:1] not in ("", "@"):
        raise fault
    text = text.replace(WORD, _FIELDS, 1)
    try:
        schedule = kron.read(text, UTC_ZONE, _POLICY)
    except Fault as modifier_fault:
        raise modifier_fault.moved(len(WORD) - len(_FIELDS)) from None
    if any(modifier.name != "policy" for modifier in kron.scan(text)[1]):
        raise fault
    return replace(BOOT, policy=schedule.policy)
