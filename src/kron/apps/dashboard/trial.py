"""Trial: all that Kron knows about a schedule text without a store. Each part is computed as the command line does."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from kron.apps.compute import SEARCH_SECONDS, time_limit
from kron.apps.dashboard.sentence import sentence
from kron.apps.search_end import end_text, unschedulable_text
from kron.errors import InvalidSchedule, KronError
from kron.language.auto import read_by_all
from kron.language.canonical import canonical, unparse
from kron.language.door import PAGE
from kron.language.english import describe
from kron.language.finding import Finding
from kron.language.findings import findings_of
from kron.language.foreign import WRITERS
from kron.language.options import Options
from kron.language.pieces import Pieces, pieces_of
from kron.language.reading import Reading, read, zone_of
from kron.timing.decision import Decision
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.upcoming_runs import Unschedulable, UpcomingRuns, upcoming_runs
from kron.timing.zone import rfc3339

MAX_TEXT_LENGTH = 1_000  # characters
RUN_COUNT = 10  # upcoming runs that are shown
DEFAULT_DIALECT = "kron"  # whose error is shown if no dialect accepts the text


class Question(NamedTuple):
    """What is asked: the text, and all that its answer depends on.

    Attributes:
        text: The text.
        dialect: Dialect; empty: all dialects that accept the text must agree.
        zone: Name of the zone of a text that names none; empty: UTC.
        name: Identity that decides the seconds.
        at: Instant after which runs are listed, in seconds.
    """

    text: str
    dialect: str
    zone: str
    name: str
    at: int


class TrialRun(NamedTuple):
    """Upcoming run, and the periods before it that cannot run, in words; empty if there are none."""

    decision: Decision
    unschedulable: str


class Elsewhere(NamedTuple):
    """Same schedule in another dialect, or why that dialect cannot express it."""

    dialect: str
    text: str
    refusal: str = ""


class Trial(NamedTuple):
    """Answer about a valid text."""

    reading: Reading
    words: str
    runs: list[TrialRun]
    end: str  # why there are fewer runs than usual; empty if there are not
    pieces: Pieces
    findings: list[Finding]
    elsewhere: list[Elsewhere]
    command: str  # shell command with the same answer


def read_question(question: Question, policy: Policy = KRON) -> Reading:
    """Read the text of a question. `policy` is that of the schedule, where the text names none.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The text is too long, or the dialect or the zone does not exist.
    """
    if len(question.text) > MAX_TEXT_LENGTH:
        message = f"text has {len(question.text):,} characters"
        raise InvalidSchedule("TOO_LONG", message, hint=f"use at most {MAX_TEXT_LENGTH:,} characters here")
    options = Options(zone_of(question.zone or "UTC"), policy, identity=question.name)
    if question.dialect:
        return read(question.text, question.dialect, options, door=PAGE)
    return read_by_all(question.text, options, question.at, default=DEFAULT_DIALECT, door=PAGE)


def try_text(question: Question) -> Trial:
    """Return the answer to a question.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The text is too long, or the dialect or the zone does not exist.
    """
    reading = read_question(question)
    schedule = reading.schedule
    search = _search(schedule, question)
    end = end_text(search.end, question.at, further=bool(search.runs)) if search.end else ""
    return Trial(
        reading,
        describe(schedule),
        [TrialRun(run.decision, _unschedulable_text(run.unschedulable)) for run in search.runs],
        sentence(end) if end else "",
        pieces_of(reading.text, reading.dialect, schedule),
        findings_of(reading.text, schedule, reading.dialect, question.at),
        _elsewhere(schedule),
        _command(question, reading),
    )


def _unschedulable_text(unschedulable: Unschedulable) -> str:
    return unschedulable_text(unschedulable) if unschedulable.periods else ""


def _search(schedule: Schedule, question: Question) -> UpcomingRuns:
    """Search the upcoming runs, bounded in steps and in time."""
    return upcoming_runs(schedule, question.name, question.at, RUN_COUNT, enough=time_limit(SEARCH_SECONDS))


def _elsewhere(schedule: Schedule) -> list[Elsewhere]:
    answers = [Elsewhere(canonical(schedule).dialect, unparse(schedule))]
    for dialect, write in WRITERS.items():
        try:
            answers.append(Elsewhere(dialect, write(schedule)))
        except KronError as error:
            answers.append(Elsewhere(dialect, "", error.message))
    return answers


def _command(question: Question, reading: Reading) -> str:
    """Return the shell command that prints the same runs."""
    zone = ["--timezone", question.zone] if question.zone else []
    words = ["kron", "next", reading.text, "--dialect", reading.dialect, *zone, "--identity", question.name]
    return shlex.join([*words, "--at", rfc3339(question.at)])
