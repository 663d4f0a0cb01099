"""Finder of the schedules in workflow files, with their positions: `on: schedule:` in YAML or in front matter.

In front matter, `schedule:` can also be a top-level key, as the specification of sentences writes it.

A schedule has one of three forms: a cron line; a sentence in the place of a cron line; or a cron line with the
sentence that it was compiled from in a comment after it: `- cron: "17 3 * * *"  # kron: daily`. The comment needs the
mark `kron:`, because people write comments such as `# daily` after their own cron lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from kron.errors import nearest
from kron.language.fault import Fault
from kron.language.sentences.sentence_errors import KEYWORDS
from kron.language.workflows.yamltext import Alias, Items, Node, Pairs, Scalar, read_yaml

_FRONT_MATTER_START = re.compile(r"\ufeff?---[ \t]*\r?\n")
_FRONT_MATTER_END = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_CRON_START = re.compile(r"\s*[0-9*]")
_LINE_TAIL = re.compile(r"([ \t\]},]*?)([ \t]+#[^\r\n]*)?(?=\r?\n|\Z)")
_SENTENCE_MARK = re.compile(r"[ \t]+#[ \t]*kron:[ \t]*([^#]*?)[ \t]*(?=#|\Z)")


class Form(StrEnum):
    """Position of a schedule in the file."""

    CRON = "cron"  # the value of `cron:`
    ITEM = "item"  # an item of the list, without `cron:`
    SCHEDULE = "schedule"  # the value of `schedule:`
    ON = "on"  # the value of `on:`


@dataclass(frozen=True, slots=True)
class Span:
    """Part of the file, and its text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WrittenSchedule:
    """Schedule of a file. `sentence` is None for a cron line without sentence; `cron` is None before compilation."""

    form: Form
    value: Span  # the part that is replaced when the schedule is compiled, quotes included
    tail: Span | None  # closing brackets and a comment that follow on the line; None if other text follows
    sentence: Span | None
    cron: str | None


def read_workflow(text: str, markdown: bool) -> list[WrittenSchedule]:
    """Return the schedules of a workflow file, in the order of the file."""
    start, end = _front_matter(text) if markdown else (0, len(text))
    if start is None:
        return []
    try:
        root = read_yaml(text[start:end])
    except Fault as fault:
        raise fault.moved(start) from None
    if not isinstance(root, Pairs):
        return []
    scalars = _find_schedules(root, start) if root.get("on") else []
    if markdown and root.get("schedule"):  # a YAML workflow has no such key, and GitHub would reject it
        scalars = sorted([*scalars, *_read_schedule_key(root, start)], key=lambda each: each[1].start)
    schedules = [_build_schedule(form, scalar, start, text) for form, scalar in scalars]
    _check_shared_lines(schedules, text)
    return schedules


def _front_matter(text: str) -> tuple[int | None, int]:
    opening = _FRONT_MATTER_START.match(text)
    if not opening:
        return None, 0
    closing = _FRONT_MATTER_END.search(text, opening.end())
    if not closing:
        raise Fault("OPEN_FRONT_MATTER", "the front matter is not closed", 0, 3, "end it with a line ---")
    return opening.end(), closing.start()


def _find_schedules(root: Pairs, offset: int) -> list[tuple[Form, Scalar]]:
    """Return every scalar that is a schedule, and its form."""
    on = _single_value(root, "on", offset)
    if isinstance(on, Scalar):
        return [(Form.ON, on)] if _is_sentence(on.value) else []
    if isinstance(on, Items):
        for item in on.items:
            if isinstance(item, Scalar) and _is_sentence(item.value):
                raise _node_fault(item, offset, "sentence in a list of events", "put the sentence under on: schedule:")
        return []
    if not isinstance(on, Pairs) or not on.get("schedule"):
        return []
    return _read_schedule_key(on, offset)


def _read_schedule_key(pairs: Pairs, offset: int) -> list[tuple[Form, Scalar]]:
    """Return the schedules under the key `schedule`, which is in the mapping."""
    schedule = _single_value(pairs, "schedule", offset)
    if isinstance(schedule, Items):
        return [_read_item(item, offset) for item in schedule.items]
    return [(Form.SCHEDULE, _check_scalar(schedule, offset))]


def _read_item(item: Node, offset: int) -> tuple[Form, Scalar]:
    if not isinstance(item, Pairs):
        return Form.ITEM, _check_scalar(item, offset)
    if not item.get("cron"):
        raise Fault(
            "NO_CRON", "item has no cron key", item.start + offset, item.start + offset + 1, "write - cron: daily"
        )
    return Form.CRON, _check_scalar(_single_value(item, "cron", offset), offset)


def _single_value(pairs: Pairs, key: str, offset: int) -> Node:
    (_, value), *others = pairs.get(key)
    if others:
        raise _node_fault(others[0][0], offset, f"duplicate key {key}", "keep one of them", "DUPLICATE_KEY")
    return value


def _check_scalar(node: Node, offset: int) -> Scalar:
    if isinstance(node, Scalar) and node.value.strip():
        return node
    if isinstance(node, Scalar):
        raise _node_fault(node, offset, "the schedule is empty", "write one, such as daily", "EMPTY_SCHEDULE")
    if isinstance(node, Alias):
        raise _node_fault(node, offset, "unexpected alias", "write the schedule itself")
    raise Fault(
        "NOT_A_SCHEDULE", "unexpected list or mapping", node.start + offset, node.start + offset + 1, "use text"
    )


def _node_fault(node: Scalar | Alias, offset: int, message: str, hint: str, code: str = "NOT_A_SCHEDULE") -> Fault:
    return Fault(code, message, node.start + offset, max(node.end, node.start + 1) + offset, hint)


def _is_sentence(value: str) -> bool:
    """Return whether the value of `on` is a sentence. Event names are one word, and none of them ends in -ly."""
    words = value.split()
    if len(words) != 1:
        return bool(words)
    word = words[0].lower()
    return word in KEYWORDS or word.endswith("ly") or bool(nearest(word, KEYWORDS))


def _build_schedule(form: Form, scalar: Scalar, offset: int, text: str) -> WrittenSchedule:
    value = Span(scalar.value.strip("\r\n"), scalar.start + offset, scalar.end + offset)
    line_tail = _LINE_TAIL.match(text, value.end)
    tail = Span(line_tail.group(), line_tail.start(), line_tail.end()) if line_tail else None
    mark = _SENTENCE_MARK.match(line_tail[2]) if line_tail and line_tail[2] else None
    if not _CRON_START.match(value.text):
        if mark:
            hint = "keep one of them"
            raise Fault("TWO_SENTENCES", "both the value and its comment are sentences", value.start, value.end, hint)
        return WrittenSchedule(form, value, tail, _sentence_span(value, text), None)
    if not mark or not line_tail:
        return WrittenSchedule(form, value, tail, None, value.text)
    start = line_tail.start(2) + mark.start(1)
    return WrittenSchedule(form, value, tail, Span(mark[1], start, start + len(mark[1])), value.text)


def _sentence_span(value: Span, text: str) -> Span:
    """Return the sentence without its quotes if the file contains it literally; otherwise the whole value."""
    start = text.find(value.text, value.start, value.end)
    return Span(value.text, start, start + len(value.text)) if start >= 0 else value


def _check_shared_lines(schedules: list[WrittenSchedule], text: str) -> None:
    """Reject a comment that could belong to either of two schedules."""
    for before, after in pairwise(schedules):
        if "\n" not in text[before.value.end : after.value.start] and (after.sentence or before.sentence):
            hint = "put each schedule on a separate line"
            raise Fault("SHARED_LINE", "two schedules are on one line", after.value.start, after.value.end, hint)
