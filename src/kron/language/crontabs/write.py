"""Writer of krontab files for imported crontabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kron.language.boot_form import WORD, is_boot
from kron.language.canonical import canonical, unparse
from kron.language.crontabs.row import CronJob, Row, Status
from kron.language.density import Piece, spread
from kron.language.duration import write_duration
from kron.language.krontab import DIALECT
from kron.language.quoting import quote
from kron.timing.schedule import Cron, Schedule
from kron.timing.schedule.policy import KRON
from kron.timing.schedule.policy import MINUTE as MINUTE_NANOSECONDS
from kron.timing.schedule.window import Mode

PROPOSED_POLICY = replace(KRON, deadline=10 * MINUTE_NANOSECONDS)  # runs do not overlap
_HEAD = """\
# Written by kron import. Time zone of the host: {zone}.
# As with cron, the runs of a job can overlap, and a run starts at most 1 minute late.
# A proposal spreads the load (@win, in the window above it), prevents overlap, and allows 10 minutes of delay.
# To accept a proposal, replace the schedule of the line below it."""
_TOGETHER = (Status.COMMENT, Status.VARIABLE)  # rows that no blank line separates


def schedule_text(schedule: Schedule) -> str:
    """Return the schedule of a krontab line, with its dialect unless that is the default."""
    if is_boot(schedule):
        return WORD
    text, dialect = unparse(schedule), canonical(schedule).dialect
    return text if dialect == DIALECT else f"{dialect}: {text}"


def proposal(job: CronJob) -> Schedule:
    """Return the proposed schedule of a job: spread by a window, without overlap, and with a longer deadline."""
    if is_boot(job.schedule):
        return job.schedule
    piece = spread(Piece(job.schedule, job.name), "windows")
    return replace(piece.schedule, policy=PROPOSED_POLICY)


def window_text(job: CronJob) -> str:
    """Return the proposed window in words: from when to when a run can start; empty if none is proposed."""
    schedule = proposal(job)
    window, cron = schedule.window, schedule.cron
    if not window.duration:
        return ""
    if window.mode is Mode.AROUND:
        half = write_duration(window.duration // 2)
        return f"from {half} before to {half} after the time of the line"
    if isinstance(cron, Cron) and cron != job.schedule.cron:
        first = cron.minutes.bit_length() - 1
        return f"from minute {first} to minute {first + window.duration // MINUTE_NANOSECONDS} of the hour"
    return f"up to {write_duration(window.duration)} after the time of the line"


def job_line(job: CronJob) -> str:
    """Return the krontab line of a job."""
    command = job.command
    pairs = {"name": job.name, "command": command.line, "user": command.user}
    pairs |= {"cwd": command.cwd, "shell": command.shell}
    words = [f"{key}={quote(value)}" for key, value in pairs.items() if value is not None]
    words += [f"mailto={quote(target.removeprefix('mail:'))}" for target, _ in command.notify]
    words += [f"env={name}={quote(value)}" for name, value in command.env]
    return " ".join([schedule_text(job.schedule), *words])


def write_krontab(rows: Sequence[Row], zone: str) -> str:
    """Return the krontab file of an import. `zone` is the name of the host's time zone."""
    lines, path, status = [_HEAD.format(zone=zone)], "", Status.COMMENT
    for row in rows:
        if row.path != path:
            path, status = row.path, Status.COMMENT
            lines += ["", f"# From {_on_one_line(path)}"]
        is_apart = row.status not in _TOGETHER or status not in _TOGETHER
        lines += [*([""] if is_apart else []), *_row_lines(row)]
        status = row.status
    return "\n".join(lines) + "\n"


def _row_lines(row: Row) -> Iterator[str]:
    if row.status is Status.COMMENT:
        yield _on_one_line(row.text.strip(" \t"))
        return
    yield f"# line {row.number}: {_on_one_line(row.text)}"
    if row.error:
        yield f"# not imported: {_on_one_line(row.error.message)}"
    yield from (f"# note: {_on_one_line(note)}" for note in row.notes)
    if row.job:
        if row.status is not Status.REBOOT:
            yield f"# window: {window_text(row.job) or 'none'}"
            yield f"# proposal: {schedule_text(proposal(row.job))}"
        yield job_line(row.job)


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ")
