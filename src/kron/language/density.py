"""Load of many schedules: the number of runs per minute, as written and as spread by sentences or windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kron.language import parse
from kron.language.sentences import github, grammar
from kron.language.sentences.replacement import sentence_of
from kron.language.sentences.scatter import scatter
from kron.language.sentences.translate import kron_line
from kron.timing.decision import decide
from kron.timing.period import Period, nominals
from kron.timing.schedule import Cron, Schedule
from kron.timing.schedule.terms import PLAIN
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import UTC_ZONE

By = Literal["sentences", "windows"]

_HOUR = 3_600 * SECOND
_MINUTE = 60 * SECOND
_MINUTES_OFF_THE_HOUR = range(5, 55)


@dataclass(frozen=True, slots=True)
class Piece:
    """Schedule that contributes to the load, its identity, and its sentence (empty if it has none)."""

    schedule: Schedule
    identity: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Number of runs per minute, by the instant at which the minute begins."""

    runs: Counter[int]

    @property
    def total(self) -> int:
        """Number of all runs."""
        return self.runs.total()

    @property
    def peak(self) -> tuple[int, int]:
        """Maximum number of runs in one minute, and the first minute with this number."""
        highest = max(self.runs.values(), default=0)
        return highest, min((minute for minute, count in self.runs.items() if count == highest), default=0)

    def by_hour(self) -> list[int]:
        """Return, for each hour of the UTC day, the runs of its busiest minute over all days."""
        hours = [0] * 24
        for minute, count in self.runs.items():
            hour = minute // 3_600 % 24
            hours[hour] = max(hours[hour], count)
        return hours


def load(pieces: Iterable[Piece], start: int, end: int) -> Load:
    """Return the load from `start` (included) to `end` (excluded), in seconds since 1970-01-01 UTC."""
    return Load(Counter(run_time - run_time % 60 for piece in pieces for run_time in _run_times(piece, start, end)))


def _run_times(piece: Piece, start: int, end: int) -> Iterator[int]:
    schedule = piece.schedule
    margin = schedule.window.duration // SECOND + 1
    for nominal in nominals(schedule, start - margin - 1, end + margin - 1):
        run_time: int | None = nominal
        if schedule.window.duration:
            run_time = decide(schedule, Period(nominal), piece.identity).chosen
        if run_time is not None and start <= run_time < end:
            yield run_time


def spread(piece: Piece, by: By) -> Piece:
    """Return the piece spread by a sentence or by a window; unchanged if it has a window or cannot be spread."""
    if piece.schedule.window.duration:
        return piece
    return _spread_by_sentence(piece) if by == "sentences" else _spread_by_window(piece)


def _spread_by_sentence(piece: Piece) -> Piece:
    sentence = piece.sentence or _sentence_of(piece.schedule)
    if not sentence:
        return piece
    cron = github.read(scatter(grammar.read(sentence), piece.identity).cron)
    return replace(piece, schedule=replace(piece.schedule, cron=cron))


def _sentence_of(schedule: Schedule) -> str:
    is_cron_line = type(schedule.cron) is Cron and schedule.terms == PLAIN and schedule.zone == UTC_ZONE
    return sentence_of(schedule.cron) if is_cron_line else ""  # type: ignore[arg-type]


def _spread_by_window(piece: Piece) -> Piece:
    """Return the piece with a window: ±1 hour for one time of day; minutes 5 to 54 for an hourly schedule."""
    cron = piece.schedule.cron
    if piece.sentence:
        return replace(piece, schedule=parse(kron_line(grammar.read(piece.sentence)), dialect="kron"))
    if not isinstance(cron, Cron) or cron.minutes.bit_count() > 1 or cron.seconds != 1:
        return piece
    if cron.hours.bit_count() == 1:
        return replace(piece, schedule=replace(piece.schedule, window=Window(Mode.AROUND, 2 * _HOUR)))
    first_minute_cron = replace(cron, minutes=1 << _MINUTES_OFF_THE_HOUR.start)
    window = Window(Mode.AFTER, (len(_MINUTES_OFF_THE_HOUR) - 1) * _MINUTE)
    return replace(piece, schedule=replace(piece.schedule, cron=first_minute_cron, window=window))
