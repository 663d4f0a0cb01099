"""Compiler of workflow files: each schedule with the cron line that it should have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kron.errors import LanguageError, Place
from kron.language.fault import Fault
from kron.language.lint import Finding
from kron.language.sentences import grammar
from kron.language.sentences.interval import Fixed, advice, fixed
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.scatter import scatter
from kron.language.service import baseline
from kron.language.workflows.find import Found, read_workflow
from kron.timing.schedule.cron import Cron


class Status(StrEnum):
    """Comparison of the cron line in the file with the compiled one."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"  # a sentence that is not compiled yet
    FIXED = "fixed"  # a cron line without a sentence


@dataclass(frozen=True, slots=True)
class Compiled:
    """Compiled schedule of a file. `seed` and `why` explain how the cron line of a sentence was computed."""

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
        """Sentence; empty for a cron line without a sentence."""
        return self.found.sentence.text if self.found.sentence else ""

    @property
    def status(self) -> Status:
        """Whether writing the compiled cron line would change the file."""
        if self.found.sentence is None:
            return Status.FIXED
        if self.found.cron is None:
            return Status.MISSING
        return Status.SAME if self.found.cron == self.cron else Status.DIFFERS

    @property
    def schedule(self) -> Cron:
        """Parsed cron line."""
        return baseline(self.cron)


@dataclass(frozen=True, slots=True)
class Workflow:
    """Compiled schedules of a file, and the errors of the invalid ones."""

    source: str
    text: str
    schedules: tuple[Compiled, ...]
    errors: tuple[LanguageError, ...]


def compile_workflow(text: str, source: str, identifier: str) -> Workflow:
    """Compile every schedule of a workflow file.

    Args:
        text: Content of the file.
        source: File name. A file that ends in .md or .markdown is Markdown with front matter; others are YAML.
        identifier: Identifier that selects the times of sentences.
    """
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
        return Compiled(found, at, identifier, "", line, None, "a fixed cron line", findings)
    sentence = grammar.read(found.sentence.text)
    scattered = scatter(sentence, identifier)
    at = _place(text, source, found.sentence.start, found.sentence.end)
    findings = _moved(scattered.findings, at)
    return Compiled(
        found, at, identifier, sentence.placeholder, scattered.cron, scattered.seed, scattered.why, findings
    )


def _instead(line: str) -> list[Finding]:
    """Return the warning about a fixed cron line if a sentence can replace it."""
    sentence = sentence_for(line)
    if not sentence:
        return []
    plan = grammar.read(sentence).plan
    return advice(plan, line)[:1] if isinstance(plan, Fixed) else [fixed(line, sentence)]


def _moved(findings: Iterable[Finding], at: Place) -> tuple[Finding, ...]:
    """Return the findings of a sentence with their positions in the file."""

    def moved(place: Place) -> Place:
        return at._replace(start=at.start + place.start, end=at.start + place.end)

    return tuple(replace(finding, place=moved(finding.place)) for finding in findings)


def _place(text: str, source: str, start: int, end: int) -> Place:
    """Return the place of a part of a file, by its line."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)].removesuffix("\r")
    return Place(line, start - first, min(end - first, len(line)), source, text.count("\n", 0, start) + 1)


def _error(fault: Fault, text: str, source: str) -> LanguageError:
    at = _place(text, source, min(fault.start, len(text)), fault.end)
    return LanguageError(fault.code, fault.message, at, hint=fault.hint, details=fault.details)


def collisions(schedules: Iterable[Compiled]) -> list[Finding]:
    """Return warnings about sentences that have the same cron line. No schedule is moved to avoid collisions."""
    shared: dict[str, list[Compiled]] = defaultdict(list)
    for schedule in schedules:
        if schedule.seed is not None:
            shared[schedule.cron].append(schedule)
    return [_collision(cron, group) for cron, group in shared.items() if len(group) > 1]


def _collision(cron: str, group: list[Compiled]) -> Finding:
    others = ", ".join(schedule.place.label for schedule in group[:3]) + (", …" if len(group) > 3 else "")
    message = f"{len(group)} schedules have the cron line {cron}, so they run together: {others}"
    same = len({schedule.identifier for schedule in group}) < len(group)
    hint = "give the schedules different sentences; a workflow has one hash for all of its schedules"
    if not same:
        hint = "use a different sentence or a longer window for one of them; the load is spread less well than possible"
    return Finding("warning", "COLLISION", message, group[1].place, hint)
