"""Compiler of workflow files: each schedule with the cron line that it should have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kron.errors import LanguageError, Place
from kron.language.fault import Fault
from kron.language.finding import Finding
from kron.language.sentences import grammar
from kron.language.sentences.interval import Fixed, advice, fixed
from kron.language.sentences.replacement import sentence_for
from kron.language.sentences.scatter import scatter
from kron.language.service import baseline
from kron.language.workflows.find import WrittenSchedule, read_workflow
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

    written: WrittenSchedule
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
        return self.written.sentence.text if self.written.sentence else ""

    @property
    def status(self) -> Status:
        """Whether writing the compiled cron line would change the file."""
        if self.written.sentence is None:
            return Status.FIXED
        if self.written.cron is None:
            return Status.MISSING
        return Status.SAME if self.written.cron == self.cron else Status.DIFFERS

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
        written_schedules = read_workflow(text, source.lower().endswith((".md", ".markdown")))
    except Fault as fault:
        return Workflow(source, text, (), (_error_in_file(fault, text, source),))
    schedules, errors = list[Compiled](), list[LanguageError]()
    for written in written_schedules:
        span = written.sentence or written.value
        try:
            schedules.append(_compile_schedule(written, text, source, identifier))
        except Fault as fault:
            errors.append(_error_in_file(fault.moved(span.start), text, source))
    return Workflow(source, text, tuple(schedules), tuple(errors))


def _compile_schedule(written: WrittenSchedule, text: str, source: str, identifier: str) -> Compiled:
    if written.sentence is None:
        line = written.value.text.strip()
        baseline(line)
        place = _place_in_file(text, source, written.value.start, written.value.end)
        findings = _place_findings(_suggest_sentence(line), place)
        return Compiled(written, place, identifier, "", line, None, "a fixed cron line", findings)
    sentence = grammar.read(written.sentence.text)
    scattered = scatter(sentence, identifier)
    place = _place_in_file(text, source, written.sentence.start, written.sentence.end)
    findings = _place_findings(scattered.findings, place)
    return Compiled(
        written, place, identifier, sentence.placeholder, scattered.cron, scattered.seed, scattered.why, findings
    )


def _suggest_sentence(line: str) -> list[Finding]:
    """Return the warning about a fixed cron line if a sentence can replace it."""
    sentence = sentence_for(line)
    if not sentence:
        return []
    plan = grammar.read(sentence).plan
    return advice(plan, line)[:1] if isinstance(plan, Fixed) else [fixed(line, sentence)]


def _place_findings(findings: Iterable[Finding], sentence_place: Place) -> tuple[Finding, ...]:
    """Return the findings of a sentence with their positions in the file."""

    def place_in_file(place: Place) -> Place:
        return sentence_place._replace(start=sentence_place.start + place.start, end=sentence_place.start + place.end)

    return tuple(replace(finding, place=place_in_file(finding.place)) for finding in findings)


def _place_in_file(text: str, source: str, start: int, end: int) -> Place:
    """Return the place of a part of a file, by its line."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)].removesuffix("\r")
    return Place(line, start - first, min(end - first, len(line)), source, text.count("\n", 0, start) + 1)


def _error_in_file(fault: Fault, text: str, source: str) -> LanguageError:
    place = _place_in_file(text, source, min(fault.start, len(text)), fault.end)
    return LanguageError(fault.code, fault.message, place, hint=fault.hint, details=fault.details)


def collisions(schedules: Iterable[Compiled]) -> list[Finding]:
    """Return warnings about sentences that have the same cron line. No schedule is moved to avoid collisions."""
    schedules_by_cron: dict[str, list[Compiled]] = defaultdict(list)
    for schedule in schedules:
        if schedule.seed is not None:
            schedules_by_cron[schedule.cron].append(schedule)
    return [_collision(cron, group) for cron, group in schedules_by_cron.items() if len(group) > 1]


def _collision(cron: str, group: list[Compiled]) -> Finding:
    labels = ", ".join(schedule.place.label for schedule in group[:3]) + (", …" if len(group) > 3 else "")
    message = f"{len(group)} schedules have the cron line {cron}, so they run together: {labels}"
    is_same_workflow = len({schedule.identifier for schedule in group}) < len(group)
    hint = "give the schedules different sentences; a workflow has one hash for all of its schedules"
    if not is_same_workflow:
        hint = "use a different sentence or a longer window for one of them; the load is spread less well than possible"
    return Finding("warning", "COLLISION", message, group[1].place, hint)
