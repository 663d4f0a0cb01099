"""Edit: a new text for a schedule, what it means, and which runs it adds, moves and loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from starlette.responses import Response

from kron.apps.comparison import COMPARED_MS, DefinitionEffect, definition_effect
from kron.apps.compute import compute
from kron.apps.dashboard.comparison_row import LOOKS, ComparisonRow, rows_of
from kron.apps.dashboard.draft import Draft, draft_of, job_of_draft, replacing_code
from kron.apps.dashboard.finding_line import FindingLine, finding_line
from kron.apps.dashboard.form import Fields, whole_number
from kron.apps.dashboard.refusal import Refusal, refusal_of
from kron.apps.dashboard.trial import MAX_TEXT_LENGTH
from kron.apps.dashboard.view import View
from kron.apps.dashboard.word_diff import Piece, definition_diff
from kron.apps.http_status import http_status
from kron.engine.request_check import require_schedule
from kron.errors import KronError, RevisionConflict
from kron.language.dialect import TABLE
from kron.language.english import describe, english_policy
from kron.language.findings import findings_of
from kron.language.source import shown_source
from kron.rules.state import ScheduleState
from kron.rules.upcoming import no_upcoming_reason
from kron.timing.job import Job
from kron.timing.schedule.policy import Overlap

PAGE_SIZE = 25
OVERLAPS = {
    Overlap.SKIP: "Skip while the previous run is active",
    Overlap.QUEUE: "Wait in a queue while the previous run is active",
    Overlap.COALESCE: "Wait; a newer period takes its place",
    Overlap.REPLACE: "Cancel the previous run",
    Overlap.ALLOW: "Run at the same time",
}


class Effect(NamedTuple):
    """What a valid draft means and does.

    Attributes:
        zone: Name of the zone of the schedule.
        words: The schedule in words.
        policy: The policy in words, if it changes.
        findings: What is worth knowing about the text.
        pieces: Words of the text that change.
        is_same: Whether the definition stays as it is.
        counts: Number of runs that are added, moved and lost.
        rows: Page of these runs.
        later: Time after which the next page begins, in milliseconds; None on the last page.
        upto: End of the comparison in milliseconds.
        is_short: Whether the comparison ends before 30 days, because the schedule has very many runs.
        absence: Why the schedule would not run at all; empty if it would.
    """

    zone: str
    words: str
    policy: str
    findings: list[FindingLine]
    pieces: list[Piece]
    is_same: bool
    counts: dict[str, int]
    rows: list[ComparisonRow]
    later: int | None
    upto: int
    is_short: bool
    absence: str


async def edit_page(view: View) -> Response:
    """Return the page. With the fields of the form, it shows what they would do."""
    return await _page(view, view.request.query_params.get)


async def edit(view: View, fields: Fields) -> Response:
    """Store the new definition if the schedule still has the compared revision; otherwise keep the text."""
    identity, values = view.named_identity, {name: texts[0] for name, texts in fields.items()}
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    draft = draft_of(values, state.job, state.revision)
    try:
        job = await compute(job_of_draft, draft, state.job, view.now // 1000)
        _check(view, job)
        await view.registrar.upsert(job, view.actor(draft.note), expected=draft.compared)
    except RevisionConflict:
        if not state.job.same_definition(job):  # otherwise the form was sent twice
            return await _page(view, values.get, 412)
    except KronError as error:
        return await _page(view, values.get, http_status(error))
    return view.redirect(view.schedule_link(identity))


async def _page(view: View, value_of: Callable[[str], str | None], status: int = 200) -> Response:
    identity = view.named_identity
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    names = ("text", "dialect", "zone", "overlap", "note", "revision", "compared")
    values = {name: value for name in names if (value := value_of(name)) is not None}
    draft = draft_of(values, state.job, state.revision)
    revisions = await view.store.revisions(identity)
    effect, refusal = await _answer(view, state, draft, value_of("later") or "")

    def link(text: str, dialect: str = "", **more: str | int) -> str:
        kept = draft._replace(text=text, dialect=dialect or draft.dialect)._asdict()
        return view.schedule_link(identity, "/edit", **{**kept, "compared": state.revision, **more})

    return view.render(
        "edit.html",
        status,
        section="schedules",
        state=state,
        draft=draft._replace(text=draft.text[:MAX_TEXT_LENGTH]),
        dialects=TABLE.values(),
        overlaps=OVERLAPS,
        effect=effect,
        refusal=refusal,
        compared=draft.compared if view.request.headers.get("hx-request") else state.revision,
        meanwhile=[each for each in revisions if each.number > draft.revision][-1:],
        replacing=replacing_code(state.job, revisions),
        link=link,
    )


async def _answer(view: View, state: ScheduleState, draft: Draft, later: str) -> tuple[Effect | None, Refusal | None]:
    """Return what a draft does, or why it is invalid."""
    try:
        job = await compute(job_of_draft, draft, state.job, view.now // 1000)
        _check(view, job)
        effect = await definition_effect(job, state, view.now, view.now + COMPARED_MS)
        return await compute(_effect, state, job, effect, view.now, whole_number(later, 0)), None
    except KronError as error:
        return None, await compute(refusal_of, error, draft.question(state.identity, view.now // 1000))


def _effect(state: ScheduleState, job: Job, effect: DefinitionEffect, now: int, later: int) -> Effect:
    """Return the effect of a definition; `later` is the time (milliseconds) after which its rows begin."""
    source, schedule, comparison = shown_source(job), job.schedule, effect.comparison
    rows = [row for row in rows_of(comparison) if row.at > later]
    page = rows[:PAGE_SIZE]
    is_other_policy = schedule.policy != state.job.schedule.policy
    return Effect(
        schedule.zone.name,
        describe(schedule),
        english_policy(schedule.policy) if is_other_policy else "",
        [finding_line(finding) for finding in findings_of(source.text, schedule, source.dialect, now // 1000)],
        definition_diff(state.job, job),
        state.job.same_definition(job),
        {name: len(getattr(comparison, name)) for name in LOOKS},
        page,
        page[-1].at if len(rows) > PAGE_SIZE else None,
        comparison.upto,
        comparison.upto < now + COMPARED_MS,
        "" if effect.upcoming.dues else no_upcoming_reason(effect.after, now),
    )


def _check(view: View, job: Job) -> None:
    """Reject a definition that the settings of a service do not allow."""
    if view.context.check_job is not None:
        view.context.check_job(job, view.now // 1000)
