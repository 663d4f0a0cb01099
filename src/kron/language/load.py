"""The load of many schedules: how many runs start in each minute, as they stand and as they would be spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kron.core.decision import decide
from kron.core.period import Period, next_nominal
from kron.core.schedule import Schedule
from kron.core.schedule.window import SECOND, Mode, Window
from kron.core.zone import UTC_ZONE
from kron.language import parse
from kron.language.sentences import fuzzy, github
from kron.language.sentences.replacement import sentence_of
from kron.language.sentences.scatter import scatter
from kron.language.translate import kron_line

By = Literal["sentences", "windows"]

_HOUR = 3_600 * SECOND
_MINUTE = 60 * SECOND
_OFF_THE_HOUR = range(5, 55)


@dataclass(frozen=True, slots=True)
class Piece:
    """A schedule that adds to the load, the identity that it is placed by, and the sentence that it came from."""

    schedule: Schedule
    identity: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """The runs of each minute, by the instant at which the minute begins."""

    runs: Counter[int]

    @property
    def total(self) -> int:
        """All runs."""
        return self.runs.total()

    @property
    def peak(self) -> tuple[int, int]:
        """The most runs in one minute, and the first minute that has so many."""
        most = max(self.runs.values(), default=0)
        return most, min((minute for minute, count in self.runs.items() if count == most), default=0)

    def by_hour(self) -> list[int]:
        """For each hour of the UTC day, the runs of its busiest minute on any of the days."""
        hours = [0] * 24
        for minute, count in self.runs.items():
            hour = minute // 3_600 % 24
            hours[hour] = max(hours[hour], count)
        return hours


def load(pieces: Iterable[Piece], start: int, end: int) -> Load:
    """The load from one instant to another."""
    return Load(Counter(at - at % 60 for piece in pieces for at in _runs(piece, start, end)))


def _runs(piece: Piece, start: int, end: int) -> Iterator[int]:
    schedule = piece.schedule
    reach = schedule.window.duration // SECOND + 1
    nominal = next_nominal(schedule, start - reach - 1)
    while nominal is not None and nominal < end + reach:
        at: int | None = nominal
        if schedule.window.duration:
            at = decide(schedule, Period(nominal), piece.identity).at
        if at is not None and start <= at < end:
            yield at
        nominal = next_nominal(schedule, nominal)


def spread(piece: Piece, by: By) -> Piece:
    """The piece as a sentence or a window would have it; as it stands, if it is spread already or has neither."""
    if piece.schedule.window.duration:
        return piece
    return _as_sentence(piece) if by == "sentences" else _as_window(piece)


def _as_sentence(piece: Piece) -> Piece:
    sentence = piece.sentence or (sentence_of(piece.schedule.cron) if piece.schedule.zone == UTC_ZONE else "")
    if not sentence:
        return piece
    cron = github.read(scatter(fuzzy.read(sentence), piece.identity).cron)
    return replace(piece, schedule=replace(piece.schedule, cron=cron))


def _as_window(piece: Piece) -> Piece:
    """An hour on either side of a single time of day; of an hourly minute, the hour but for its ends."""
    cron = piece.schedule.cron
    if piece.sentence:
        return replace(piece, schedule=parse(kron_line(fuzzy.read(piece.sentence)), dialect="kron"))
    if cron.minutes.bit_count() > 1 or cron.seconds != 1:
        return piece
    if cron.hours.bit_count() == 1:
        return replace(piece, schedule=replace(piece.schedule, window=Window(Mode.AROUND, 2 * _HOUR)))
    opening = replace(cron, minutes=1 << _OFF_THE_HOUR.start)
    window = Window(Mode.AFTER, (len(_OFF_THE_HOUR) - 1) * _MINUTE)
    return replace(piece, schedule=replace(piece.schedule, cron=opening, window=window))
