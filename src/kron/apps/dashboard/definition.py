"""Definition of a schedule for people: its text in pieces, its zone and its target without secrets."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.dashboard.time_text import MONTHS, utc_offset_text
from kron.apps.redacted import redacted
from kron.language.english import english_policy
from kron.language.kron import scan
from kron.language.plus import PLUS_MODIFIERS
from kron.language.source import shown_source
from kron.timing.job import Job
from kron.timing.zone import Zone

MAX_TEXT_LENGTH = 4_000  # characters of a text that is shown
YEAR_SECONDS = 366 * 86_400


class Definition(NamedTuple):
    """What a definition says, in words.

    Attributes:
        head: Text up to the first modifier.
        modifiers: The modifiers.
        dialect: Dialect of the text.
        policy: Policy in sentences.
        target: Target without password and parameters.
        zone: Zone with its present and its next offset.
        labels: Labels as `key=value`.
    """

    head: str
    modifiers: list[str]
    dialect: str
    policy: str
    target: str
    zone: str
    labels: list[str]


def definition_of(job: Job, now: int) -> Definition:
    """Return the definition of a job at `now` (seconds). Arguments and payloads are left out."""
    source = shown_source(job)
    head, modifiers = scan(source.text, PLUS_MODIFIERS) if source.dialect in ("kron", "plus") else (source.text, [])
    return Definition(
        head.strip()[:MAX_TEXT_LENGTH],
        [source.text[each.start : each.end][:MAX_TEXT_LENGTH] for each in modifiers],
        source.dialect,
        english_policy(job.schedule.policy),
        target_text(job),
        zone_text(job.schedule.zone, now),
        [f"{key}={value}" for key, value in job.labels],
    )


def target_text(job: Job) -> str:
    """Return the target of a job without password and parameters. A command is named without its arguments."""
    if job.command is not None:
        return f"command {job.command.line.split(' ', 1)[0]}"
    method = f"{job.webhook.method if job.webhook else 'POST'} " if job.target.startswith(("http:", "https:")) else ""
    return method + redacted(job.target)


def zone_text(zone: Zone, now: int) -> str:
    """Return a zone with its offset now, and its next change within a year."""
    text = f"{zone.name}, now {utc_offset_text(zone.wall(now).offset)}"
    shift = None if zone.fixed is not None else next(zone.shifts(now, now + YEAR_SECONDS), None)
    if shift is None:
        return text
    date = zone.wall(shift.at).date
    return f"{text} · {utc_offset_text(shift.after)} from {date.day} {MONTHS[date.month - 1]} {date.year}"
