"""Workflow text + identifier -> every schedule in it, with the cron line that it should have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kron.core.schedule.cron import Cron
from kron.errors import LanguageError, Place
from kron.language.extended import baseline
from kron.language.fault import Fault
from kron.language.lint import Finding
from kron.language.sentences import fuzzy
from kron.language.sentences.interval import Fixed, advice, fixed
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.scatter import scatter
from kron.language.workflows.workflow import Found, read_workflow


class Status(StrEnum):
    """How the cron line in the file stands to the one that it should be."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"  # a sentence that was not compiled yet
    FIXED = "fixed"  # a cron line without a sentence


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schedule of a file, compiled. `seed` and `why` tell how a sentence came by its line."""

    found: Found
    place: Place
    identifier: str
    placeholder: str
    cron: str
    seed: int | None
    why: str
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        """The sentence; empty for a cron line of its own."""
        return self.found.sentence.text if self.found.sentence else ""

    @property
    def status(self) -> Status:
        """What of it would change if it were written."""
        if self.found.sentence is None:
            return Status.FIXED
        if self.found.cron is None:
            return Status.MISSING
        return Status.SAME if self.found.cron == self.cron else Status.DIFFERS

    @property
    def schedule(self) -> Cron:
        """The cron line, read."""
        return baseline(self.cron)


@dataclass(frozen=True, slots=True)
class Workflow:
    """What a file says, and what of it could not be read."""

    source: str
    text: str
    schedules: tuple[Compiled, ...]
    errors: tuple[LanguageError, ...]


def compile_workflow(text: str, source: str, identifier: str) -> Workflow:
    """Every schedule of a workflow file. `source` names the file; Markdown by its ending, YAML otherwise."""
    try:
        found = read_workflow(text, source.lower().endswith((".md", ".markdown")))
    except Fault as fault:
        return Workflow(source, text, (), (_error(fault, text, source),))
    schedules, errors = list[Compiled](), list[LanguageError]()
    for item in found:
        span = item.sentence or item.value
        try:
            schedules.append(_compiled(item, text, source, identifier))
        except Fault as fault:
            errors.append(_error(fault.moved(span.start), text, source))
    return Workflow(source, text, tuple(schedules), tuple(errors))


def _compiled(found: Found, text: str, source: str, identifier: str) -> Compiled:
    if found.sentence is None:
        line = found.value.text.strip()
        baseline(line)
        at = _place(text, source, found.value.start, found.value.end)
        findings = _moved(_instead(line), at)
        return Compiled(found, at, identifier, "", line, None, "a cron line of its own", findings)
    sentence = fuzzy.read(found.sentence.text)
    scattered = scatter(sentence, identifier)
    at = _place(text, source, found.sentence.start, found.sentence.end)
    findings = _moved(scattered.findings, at)
    return Compiled(
        found, at, identifier, sentence.placeholder, scattered.cron, scattered.seed, scattered.why, findings
    )


def _instead(line: str) -> list[Finding]:
    """The warning about a cron line that others share, if a sentence could stand in its place."""
    sentence = sentence_for(line)
    if not sentence:
        return []
    plan = fuzzy.read(sentence).plan
    return advice(plan, line)[:1] if isinstance(plan, Fixed) else [fixed(line, sentence)]


def _moved(findings: Iterable[Finding], at: Place) -> tuple[Finding, ...]:
    """The findings of a sentence, seen from its file."""

    def moved(place: Place) -> Place:
        return at._replace(start=at.start + place.start, end=at.start + place.end)

    return tuple(replace(finding, place=moved(finding.place)) for finding in findings)


def _place(text: str, source: str, start: int, end: int) -> Place:
    """A stretch of a file by its line."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)].removesuffix("\r")
    return Place(line, start - first, min(end - first, len(line)), source, text.count("\n", 0, start) + 1)


def _error(fault: Fault, text: str, source: str) -> LanguageError:
    at = _place(text, source, min(fault.start, len(text)), fault.end)
    return LanguageError(fault.code, fault.message, at, hint=fault.hint, details=fault.details)


def collisions(schedules: Iterable[Compiled]) -> list[Finding]:
    """Warnings about sentences that were given the same line; nothing is moved to hide it."""
    shared: dict[str, list[Compiled]] = defaultdict(list)
    for schedule in schedules:
        if schedule.seed is not None:
            shared[schedule.cron].append(schedule)
    return [_collision(cron, group) for cron, group in shared.items() if len(group) > 1]


def _collision(cron: str, group: list[Compiled]) -> Finding:
    others = ", ".join(schedule.place.label for schedule in group[:3]) + (", …" if len(group) > 3 else "")
    message = f"{cron} is the line of {len(group)} schedules, so they run together: {others}"
    same = len({schedule.identifier for schedule in group}) < len(group)
    hint = "a workflow has one hash for all of its schedules; give them different sentences"
    if not same:
        hint = (
            "the load is spread less well than it could be; a different sentence or a longer window moves one of them"
        )
    return Finding("warning", "COLLISION", message, group[1].place, hint)
