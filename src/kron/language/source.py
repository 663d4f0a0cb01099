"""Source texts: what the author of a schedule wrote, and what is shown for a schedule that was built without a text."""

from __future__ import annotations

from functools import lru_cache

from kron.language.canonical import canonical
from kron.language.dialect import TABLE, ZONE_NAMING
from kron.language.kron import scan
from kron.language.plus import PLUS_MODIFIERS
from kron.timing.job import Job, Source
from kron.timing.schedule import Schedule


def source_of(text: str, dialect: str, schedule: Schedule) -> Source:
    """Return the source text of a schedule.

    A text of a dialect that is not stored is replaced by the canonical text of its schedule.

    Args:
        text: The text as it was written, without the name of its dialect. Six fields of the service dialect start
            with the seconds.
        dialect: Dialect of the text.
        schedule: Schedule that the text was parsed into. Its time zone is kept unless the text names one.
    """
    if not TABLE[dialect].stored:
        text, dialect = canonical(schedule)
    return shared_source(text, dialect, None if names_zone(text, dialect) else schedule.zone.name)


def shown_source(job: Job) -> Source:
    """Return the source text of a job; its canonical text if it has none."""
    if job.source is not None:
        return job.source
    text, dialect = canonical(job.schedule)
    return source_of(text, dialect, job.schedule)


def names_zone(text: str, dialect: str) -> bool:
    """Return whether a valid text names its time zone."""
    if dialect not in ZONE_NAMING or "@tz" not in text:
        return False
    _, modifiers = scan(text, PLUS_MODIFIERS)
    return any(modifier.name == "tz" for modifier in modifiers)


@lru_cache(16_384)  # many schedules that are defined or read together have the same text
def shared_source(text: str, dialect: str, zone: str | None) -> Source:
    """Return a source text. Equal source texts are usually one object."""
    return Source(text, dialect, zone)
