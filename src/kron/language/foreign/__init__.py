"""Schedule texts of other schedulers: their readers, which the table of dialects lists, and their writers.

Such a text is never stored: a schedule that a reader returns is shown and stored by its canonical text, in the kron,
service or plus dialect. Modules are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kron.timing.schedule import Schedule


def _write_posix(schedule: Schedule) -> str:
    from kron.language.foreign import posix_text

    return posix_text.write(schedule)


def _write_quartz(schedule: Schedule) -> str:
    from kron.language.foreign import quartz_text

    return quartz_text.write(schedule)


def _write_aws(schedule: Schedule) -> str:
    from kron.language.foreign import aws_text

    return aws_text.write(schedule)


def _write_rrule(schedule: Schedule) -> str:
    from kron.language.foreign import rrule_text

    return rrule_text.write(schedule)


WRITERS: Mapping[str, Callable[[Schedule], str]] = {
    "posix": _write_posix,
    "quartz": _write_quartz,
    "aws": _write_aws,
    "rrule": _write_rrule,
}
