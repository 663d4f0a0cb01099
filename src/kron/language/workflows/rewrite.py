"""Writer of compiled cron lines into workflow files. No other byte of the file changes."""

from __future__ import annotations

from kron.errors import LanguageError
from kron.language.workflows.compile import Compiled, Status, Workflow, compile_workflow
from kron.language.workflows.find import Form

_REPLACEMENTS = {  # replacement of a bare sentence
    Form.CRON: "{}",
    Form.ITEM: "cron: {}",
    Form.SCHEDULE: "[{{cron: {}}}]",
    Form.ON: "{{schedule: [{{cron: {}}}]}}",
}


def rewrite(workflow: Workflow) -> str:
    """Return the text with every sentence compiled: the cron line in its place, the sentence in a comment after it.

    The operation is idempotent. The new text is parsed again before it is returned.

    Raises:
        LanguageError: A cron line cannot be inserted without other changes (`CANNOT_WRITE`).
    """
    text = workflow.text
    for schedule in reversed(workflow.schedules):  # from the end, so that earlier positions stay valid
        if schedule.status is Status.DIFFERS:
            value = schedule.written.value
            text = text[: value.start] + _quote_cron(text[value.start], schedule.cron) + text[value.end :]
        elif schedule.status is Status.MISSING:
            text = _insert_cron(text, schedule)
    if text != workflow.text:
        _verify(workflow, text)
    return text


def _quote_cron(first: str, cron: str) -> str:
    """Return the cron line in the quotes of the file. It needs quotes because YAML reads a plain `*/5` as an alias."""
    quote = "'" if first == "'" else '"'
    return f"{quote}{cron}{quote}"


def _insert_cron(text: str, schedule: Compiled) -> str:
    written, sentence = schedule.written, schedule.sentence.strip()
    value_text = text[written.value.start : written.value.end]
    if (
        value_text not in (schedule.sentence, f"'{schedule.sentence}'", f'"{schedule.sentence}"')
        or written.tail is None
    ):
        raise _cannot_write(schedule, "the sentence is not the last value of its line, plain or in quotes")
    brackets, comment_sign, comment = written.tail.text.partition("#")
    inner = brackets.rstrip(" \t")
    value = _REPLACEMENTS[written.form].format(_quote_cron(value_text[0], schedule.cron))
    tail = f"{inner}  # kron: {sentence}{brackets[len(inner) :]}{comment_sign}{comment}"
    return text[: written.value.start] + value + tail + text[written.tail.end :]


def _verify(workflow: Workflow, text: str) -> None:
    """Check that the new text has the same sentences, each with its cron line."""
    first = workflow.schedules[0]
    rewritten = compile_workflow(text, workflow.source, first.identifier)
    before = [(schedule.sentence.strip(), schedule.cron) for schedule in workflow.schedules]
    after = [(schedule.sentence, schedule.written.cron) for schedule in rewritten.schedules]
    if rewritten.errors or before != after:
        raise _cannot_write(first, "the file would have other schedules")


def _cannot_write(schedule: Compiled, reason: str) -> LanguageError:
    hint = f'write - cron: "{schedule.cron}"  # kron: {schedule.sentence.strip()}'
    return LanguageError("CANNOT_WRITE", f"the cron line cannot be inserted: {reason}", schedule.place, hint=hint)
