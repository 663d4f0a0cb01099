"""Page that tries a schedule text: its words, its next runs, its pieces, and what is worth knowing. It needs no store.

Times are in the zone of the schedule, so that a link shows the same page to every reader.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.axis_text import axis_texts
from kron.apps.dashboard.charts.ladder import common_axis
from kron.apps.dashboard.charts.window import Placement, window_axis, window_chart
from kron.apps.dashboard.finding_line import finding_line
from kron.apps.dashboard.refusal import Refusal, refusal_of
from kron.apps.dashboard.time_text import Form, time_element
from kron.apps.dashboard.trial import MAX_TEXT_LENGTH, Question, Trial, try_text
from kron.apps.dashboard.view import View
from kron.errors import InvalidInput, KronError
from kron.language.dialect import TABLE
from kron.timing.decision import Decision
from kron.timing.job import Job
from kron.timing.schedule.window import INSTANT
from kron.timing.zone import Zone, instant_of, rfc3339

DEFAULT_NAME = "example"
MAX_FIELD_LENGTH = 200
LINE_HEIGHT, PICTURE_HEIGHT = 20, 64
EXAMPLES = ("0 9 * * 1-5", "daily around 14:00", "30 2 * * * @tz(Europe/Paris) @win(after,2h)", "0 25 * * *")


class RunLine(NamedTuple):
    """Upcoming run as a line of the table."""

    decision: Decision
    unschedulable: str
    chart: Markup
    day: Markup
    clock: Markup
    utc: str

    @property
    def at(self) -> int:
        """Chosen time in milliseconds."""
        return _chosen_ms(self.decision)


async def try_page(view: View) -> Response:
    """Return the page. An invalid text is an answer, too."""
    values = view.request.query_params
    has_instant = bool(values.get("at", "").strip())
    question = Question(
        values.get("s", "").strip(" \t"),
        values.get("dialect", "").strip()[:MAX_FIELD_LENGTH],
        values.get("zone", "").strip()[:MAX_FIELD_LENGTH],
        values.get("name", "").strip()[:MAX_FIELD_LENGTH] or DEFAULT_NAME,
        view.now // 1000,
    )
    trial: Trial | None = None
    refusal: Refusal | None = None
    try:
        question = question._replace(at=_instant(values.get("at", ""), question.at))
        _check_name(question.name)
        if question.text:
            trial = await compute(try_text, question)
    except KronError as error:
        refusal = await compute(refusal_of, error, question)
    return view.render(
        "try_it.html",
        section="try",
        question=question._replace(text=question.text[:MAX_TEXT_LENGTH]),
        at_text=rfc3339(question.at) if has_instant and refusal is None else values.get("at", "")[:MAX_FIELD_LENGTH],
        dialects=TABLE.values(),
        examples=EXAMPLES,
        trial=trial,
        refusal=refusal,
        link=lambda text, dialect="": view.link("try", s=text, dialect=dialect, zone=question.zone, name=question.name),
        **(_answer(view, question, trial, has_instant=has_instant) if trial else {}),
    )


def _answer(view: View, question: Question, trial: Trial, *, has_instant: bool) -> dict[str, Any]:
    """Return what the template needs about a valid text."""
    job = Job(question.name, trial.reading.schedule)
    zone = job.schedule.zone
    placements = [Placement(job, run.decision.period.nominal, _chosen_ms(run.decision)) for run in trial.runs]
    axis = common_axis(placements) if placements else window_axis(job)
    lines = [
        RunLine(
            run.decision, run.unschedulable, window_chart(placement, axis, LINE_HEIGHT), *_times(run.decision, zone)
        )
        for run, placement in zip(trial.runs, placements, strict=True)
    ]
    nominals = [placement.nominal for placement in placements]
    return {
        "zone_name": zone.name,
        "lines": lines,
        "has_window": job.schedule.window != INSTANT,
        "axis": axis_texts(axis, nominals, zone),
        "picture": window_chart(placements[0], axis, PICTURE_HEIGHT) if placements else None,
        "picture_axis": axis_texts(axis, nominals[:1], zone),
        "findings": [finding_line(finding) for finding in trial.findings],
        "is_relative": not has_instant,
        "question_at": rfc3339(question.at),
        "permanent": view.link(
            "try",
            s=question.text,
            dialect=trial.reading.dialect if question.dialect else "",
            zone=question.zone,
            name=question.name,
            at=rfc3339(question.at),
        ),
    }


def _times(decision: Decision, zone: Zone) -> tuple[Markup, Markup, str]:
    """Return the day and the clock time in the zone of the schedule, and the clock time in UTC."""
    at = _chosen_ms(decision)
    day, clock = (time_element(at, at, zone.name, form) for form in (Form.DAY, Form.CLOCK))
    return day, clock, rfc3339(at // 1000)[11:19]


def _chosen_ms(decision: Decision) -> int:
    """Return the chosen time in milliseconds. Every run of a search has one."""
    return (decision.period.nominal if decision.chosen is None else decision.chosen) * 1000


def _check_name(name: str) -> None:
    if not name.isprintable():
        hint = "use a name such as billing/invoices"
        raise InvalidInput("BAD_FIELD", "name is not printable text", hint=hint, details={"field": "name"})


def _instant(text: str, otherwise: int) -> int:
    """Return the instant that the form names, in seconds."""
    text = text.strip()
    if not text or text == "now":
        return otherwise
    try:
        return instant_of(text)
    except ValueError as error:
        hint = "use an instant such as 2026-03-01T00:00:00Z"
        raise InvalidInput("BAD_FIELD", str(error), hint=hint, details={"field": "at"}) from None
