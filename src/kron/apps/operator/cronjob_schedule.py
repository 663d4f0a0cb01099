"""Schedule of a CronJob as fields of a KronJob, with notes on what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kron.errors import InvalidInput, LanguageError
from kron.kube.kind import Body
from kron.language import parse
from kron.language.canonical import write_cron
from kron.language.fault import Fault
from kron.language.foreign.cronjob import EVERY, CronJobTime, differing_shift, interval_text, read_time
from kron.language.reading import zone_of
from kron.timing.schedule.cron import Cron
from kron.timing.zone import DAY, Zone, wall_text

SEARCHED = 10 * 366 * DAY  # seconds in which clock changes are searched


class ScheduleFields(NamedTuple):
    """Fields of the KronJob's spec, the text of the CronJob's schedule, and what differs."""

    spec: dict[str, Any]
    text: str
    notes: tuple[str, ...]


def schedule_fields(cronjob: Body, now: int, cluster_zone: str) -> ScheduleFields:
    """Return the schedule and the time zone of a CronJob as fields of a KronJob.

    Args:
        cronjob: The CronJob.
        now: Instant after which clock changes are searched, in seconds since the epoch.
        cluster_zone: Time zone of the CronJob controller; empty if it is not known and UTC is assumed.

    Raises:
        InvalidInput: A field is missing or invalid.
        LanguageError: The schedule or the time zone is invalid.
    """
    spec = cronjob.get("spec") or {}
    text, zone_name = spec.get("schedule"), spec.get("timeZone")
    if not isinstance(text, str):
        raise InvalidInput("MISSING_FIELD", "field schedule is missing", hint="add schedule")
    time = _read(text)
    if time.zone and zone_name is not None:
        message = "field timeZone is invalid: schedule names a time zone too"
        raise InvalidInput("BAD_FIELD", message, hint="remove TZ= from schedule")
    name = time.zone or zone_name or cluster_zone or "UTC"
    zone = zone_of(str(name))
    notes = [] if time.zone or zone_name or cluster_zone else [_UNKNOWN_ZONE]
    timezone = {} if zone.name == "UTC" else {"timezone": zone.name}
    if time.cron is None:
        return ScheduleFields({"schedule": interval_text(time.seconds, zone), **timezone}, text, (*notes, _NO_ANCHOR))
    notes += _clock_notes(time.cron, zone, now)
    return ScheduleFields({"schedule": _fields_text(time, time.cron), **timezone}, text, tuple(notes))


_UNKNOWN_ZONE = (
    "timeZone is not set: the CronJob follows the clock of kube-controller-manager."
    " UTC is assumed; use --cluster-zone if it is another zone."
)
_NO_ANCHOR = f"{EVERY} counts from the creation of the CronJob. The KronJob counts from fixed times."


def _read(text: str) -> CronJobTime:
    try:
        return read_time(text)
    except Fault as fault:
        raise fault.within(text, "schedule") from None


def _fields_text(time: CronJobTime, cron: Cron) -> str:
    """Return the fields as written if they mean the same to Kron, otherwise in canonical form."""
    try:
        same = parse(time.fields, dialect="kron").cron == cron
    except LanguageError:
        same = False
    return time.fields if same else write_cron(cron)


def _clock_notes(cron: Cron, zone: Zone, now: int) -> Iterator[str]:
    """Yield a note if the CronJob controller handles a clock change of the next years differently."""
    shift = differing_shift(cron, zone, now, now + SEARCHED)
    if shift:
        day = wall_text(shift.at + shift.before)[:10]
        yield (
            f"On days such as {day}, whose clock change in {zone.name} skips midnight or is not a whole hour,"
            " a CronJob can skip a run or have one too many. The KronJob follows the clock."
        )
