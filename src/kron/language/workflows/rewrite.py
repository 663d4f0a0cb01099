"""Compiled workflow -> the same text with its cron lines written in, and not one other byte changed."""

from __future__ import annotations

from kron.errors import LanguageError
from kron.language.workflows.compiled import Compiled, Status, Workflow, compile_workflow
from kron.language.workflows.workflow import Form

_FORMS = {  # what stands in the place of a bare sentence
    Form.CRON: "{}",
    Form.ITEM: "cron: {}",
    Form.SCHEDULE: "[{{cron: {}}}]",
    Form.ON: "{{schedule: [{{cron: {}}}]}}",
}


def rewrite(workflow: Workflow) -> str:
    """The text with every sentence compiled: the cron line in its place, the sentence in a comment behind it.

    Doing it again changes nothing. The new text is read again before it is handed out.
    """
    text = workflow.text
    for schedule in reversed(workflow.schedules):  # from the end, so that the places of the others stay
        if schedule.status is Status.DIFFERS:
            value = schedule.found.value
            text = text[: value.start] + _quoted(text[value.start], schedule.cron) + text[value.end :]
        elif schedule.status is Status.MISSING:
            text = _written_in(text, schedule)
    if text != workflow.text:
        _verify(workflow, text)
    return text


def _quoted(first: str, cron: str) -> str:
    """In the quotes that were there; a plain `*/5` would be an alias to YAML."""
    quote = "'" if first == "'" else '"'
    return f"{quote}{cron}{quote}"


def _written_in(text: str, schedule: Compiled) -> str:
    found, sentence = schedule.found, schedule.sentence.strip()
    raw = text[found.value.start : found.value.end]
    if raw not in (schedule.sentence, f"'{schedule.sentence}'", f'"{schedule.sentence}"') or found.tail is None:
        raise _cannot(schedule, "the sentence does not end its line, plain or in quotes")
    brackets, sign, comment = found.tail.text.partition("#")
    inner = brackets.rstrip(" \t")
    value = _FORMS[found.form].format(_quoted(raw[0], schedule.cron))
    tail = f"{inner}  # kron: {sentence}{brackets[len(inner) :]}{sign}{comment}"
    return text[: found.value.start] + value + tail + text[found.tail.end :]


def _verify(workflow: Workflow, text: str) -> None:
    """The new text must say the same sentences, each with its line."""
    first = workflow.schedules[0]
    again = compile_workflow(text, workflow.source, first.identifier)
    before = [(schedule.sentence.strip(), schedule.cron) for schedule in workflow.schedules]
    after = [(schedule.sentence, schedule.found.cron) for schedule in again.schedules]
    if again.errors or before != after:
        raise _cannot(first, "the file would not read the same")


def _cannot(schedule: Compiled, reason: str) -> LanguageError:
    hint = f'write - cron: "{schedule.cron}"  # kron: {schedule.sentence.strip()}'
    return LanguageError("CANNOT_WRITE", f"the cron line cannot be written in: {reason}", schedule.place, hint=hint)
