"""Preview of a definition: when it would run, and what its text means."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from kron.apps.service.auth.caller import Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import compute
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.queries import At, Count, milliseconds, upcoming_view
from kron.apps.service.schemas import plans
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import PreviewRequest
from kron.language.english import describe
from kron.language.findings import findings_of
from kron.language.pieces import pieces_of
from kron.language.record import record_of
from kron.language.source import shown_source
from kron.rules.state import ScheduleState
from kron.timing.job import Job, Source
from kron.timing.period import Period
from kron.timing.schedule import Schedule
from kron.timing.zone import instant_of, rfc3339_ms

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

MAX_DECISIONS = 20  # decision records in one answer


@router.post("/preview")
async def preview(
    body: PreviewRequest, caller: Reader, n: Count = 5, until: At = None, parts: AppContext = Used
) -> plans.Preview:
    """Return when a definition would run if it were defined now, or at another instant, and what its text means.

    Nothing is stored. The same request with `at` has the same answer at any time.
    """
    now = await parts.store.now() if body.at is None else milliseconds(body.at)
    job, warnings = await compute(job_of, body.definition, caller.identity(body.id), parts.config, now // 1000)
    runs = await upcoming_view(ScheduleState(job, 1, 0, now), now, n, until)
    nominals = [instant_of(run.period) for run in runs.runs[:MAX_DECISIONS]]
    meaning = await compute(_meaning, job, now // 1000, nominals)
    fields = {**runs.model_dump(), "warnings": warnings, "identity": job.identity, "at": rfc3339_ms(now)}
    return plans.Preview(**fields, **meaning)


def _meaning(job: Job, now: int, nominals: list[int]) -> dict[str, Any]:
    """Return findings, pieces and decision records."""
    source, schedule = shown_source(job), job.schedule
    findings = findings_of(source.text, schedule, source.dialect, now)
    return {
        "text": source.text,
        "findings": [
            plans.FindingView(
                level=finding.level,
                code=finding.code,
                message=finding.message,
                hint=finding.hint,
                start=finding.place.start,
                end=finding.place.end,
            )
            for finding in findings
        ],
        "pieces": _pieces(source, schedule),
        "decisions": [record_of(job, Period(nominal)) for nominal in nominals],
    }


def _pieces(source: Source, schedule: Schedule) -> list[plans.PieceView]:
    """Return the pieces of a text. A text whose pieces are those of its canonical text is one piece."""
    found = pieces_of(source.text, source.dialect, schedule)
    if found.text != source.text:
        meaning = describe(schedule)
        return [plans.PieceView(name="schedule", text=source.text, start=0, end=len(source.text), meaning=meaning)]
    return [plans.PieceView(**piece._asdict(), end=piece.end) for piece in found.pieces]
