"""Draft: what an operator wrote in the edit form of a schedule, and the definition that it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from kron.apps.dashboard.form import whole_number
from kron.apps.dashboard.trial import Question, read_question
from kron.errors import InvalidInput, clip
from kron.language.contradiction import contradiction
from kron.language.reading import read_stored
from kron.language.source import shown_source, source_of
from kron.rules.update import Revision
from kron.timing.job import Job
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, Overlap, Policy
from kron.timing.schedule.window import INSTANT

DAY_SECONDS = 86_400
CODE_ACTOR = "Scheduler"  # who defines the jobs that an application declares
FILE_ACTORS = ("kron load", "kron apply", "DeclarativeScheduler")  # begins of names that write definitions of files


class Draft(NamedTuple):
    """Fields of the form.

    Attributes:
        text: Schedule text.
        dialect: Dialect of the text.
        zone: Name of the zone of a text that names none.
        overlap: Overlap policy.
        note: Why.
        revision: Revision that the operator saw first.
        compared: Revision with which the page compared the text last. Only this one is replaced.
    """

    text: str
    dialect: str
    zone: str
    overlap: str
    note: str
    revision: int
    compared: int

    def question(self, identity: str, at: int) -> Question:
        """Return the question about the text; `at` is the current second."""
        return Question(self.text, self.dialect, self.zone, identity, at)


def draft_of(values: Mapping[str, str], job: Job, revision: int) -> Draft:
    """Return the draft of a form; a field that the form does not have is that of the present definition."""
    source = shown_source(job)
    text = values.get("text", source.text)
    return Draft(
        " ".join(text.splitlines()).strip(),
        values.get("dialect", source.dialect).strip(),
        values.get("zone", source.zone or "").strip(),
        values.get("overlap", job.schedule.policy.overlap.value),
        values.get("note", "").strip(),
        whole_number(values.get("revision", ""), revision),
        whole_number(values.get("compared", ""), revision),
    )


def job_of_draft(draft: Draft, job: Job, at: int) -> Job:
    """Return the definition that a draft means: `job` with another text, zone and overlap policy.

    Args:
        draft: The draft.
        job: The present definition. Its target, payload, labels and other policies stay.
        at: Current second.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The text is too long, or the dialect or the zone does not exist.
        InvalidInput: The text and the policy do not fit.
    """
    policy = _policy(draft, job)
    reading = read_question(draft.question(job.identity, at), policy)
    _check(reading.schedule, policy, at)
    return replace(job, schedule=reading.schedule, source=source_of(reading.text, reading.dialect, reading.schedule))


def replacing_code(job: Job, revisions: Sequence[Revision]) -> str:
    """Return what writes the definition again, and so replaces an edit; empty if nothing is known to do that.

    A scheduler defines the jobs that its application declares each time it starts. It does not do that for jobs that
    were created at run time: these have a task as their target.
    """
    actors = {revision.actor for revision in revisions}
    if CODE_ACTOR in actors and job.target == f"python:{job.identity}":
        return "code"
    return "file" if any(actor.startswith(FILE_ACTORS) for actor in actors) else ""


def _policy(draft: Draft, job: Job) -> Policy:
    """Return the policy of a text that names none."""
    if draft.overlap not in tuple(Overlap):
        hint = f"use one of {', '.join(Overlap)}"
        raise InvalidInput("BAD_FIELD", f"unknown overlap policy {clip(draft.overlap)!r}", hint=hint)
    policy, overlap = _without_text(job), Overlap(draft.overlap)
    if overlap is policy.overlap:
        return policy
    given = tuple(sorted({*policy.given, "overlap"})) if policy.preset else policy.given
    return replace(policy, overlap=overlap, given=given)


def _without_text(job: Job) -> Policy:
    """Return the policy of a job without what its own text says, so that a text without `@policy` takes it back."""
    policy, source = job.schedule.policy, job.source
    if source is None or "@policy" not in source.text:
        return policy
    written = read_stored(source.text, source.dialect, source.zone or "UTC").policy
    names = [field.name for field in fields(Policy) if getattr(written, field.name) != getattr(KRON, field.name)]
    return replace(policy, **{name: getattr(KRON, name) for name in names})


def _check(schedule: Schedule, policy: Policy, at: int) -> None:
    """Reject what the HTTP API rejects."""
    if policy.preset and schedule.policy != policy:
        message = "the policy of this schedule comes from the settings of a service, so that its text has no @policy"
        raise InvalidInput("BAD_FIELD", message, hint="remove @policy from the text")
    if policy.jitter and schedule.window != INSTANT:
        message = "a schedule with jitter cannot have a window"
        raise InvalidInput("BAD_FIELD", message, hint="remove @win from the text")
    if schedule.policy.overlap_limit is not None and schedule.policy.overlap is not Overlap.ALLOW:
        message = "this schedule limits its active runs, which is possible with the overlap policy allow only"
        raise InvalidInput("BAD_FIELD", message, hint="choose allow")
    reason = contradiction(schedule.constraints, at // DAY_SECONDS)
    if reason:
        message = f"@only and @avoid contradict each other: {reason}"
        raise InvalidInput("BAD_FIELD", message, hint="remove one of the constraints")
