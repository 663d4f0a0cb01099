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

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n")
_BACK = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_CRON = re.compile(r"\s*[0-9*]")
_TAIL = re.compile(r"([ \t\]},]*?)([ \t]+#[^\r\n]*)?(?=\r?\n|\Z)")
_MARK = re.compile(r"[ \t]+#[ \t]*kron:[ \t]*([^#]*?)[ \t]*(?=#|\Z)")


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
class Found:
    """Schedule of a file. `sentence` is None for a cron line without sentence; `cron` is None before compilation."""

    form: Form
    value: Span  # the part that is replaced when the schedule is compiled, quotes included
    tail: Span | None  # closing brackets and a comment that follow on the line; None if other text follows
    sentence: Span | None
    cron: str | None


def read_workflow(text: str, markdown: bool) -> list[Found]:
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
    scalars = _schedules(root, start) if root.get("on") else []
    if markdown and root.get("schedule"):  # a YAML workflow has no such key, and GitHub would reject it
        scalars = sorted([*scalars, *_of_schedule(root, start)], key=lambda each: each[1].start)
    found = [_found(form, scalar, start, text) for form, scalar in scalars]
    _one_a_line(found, text)
    return found


def _front_matter(text: str) -> tuple[int | None, int]:
    front = _FRONT.match(text)
    if not front:
        return None, 0
    back = _BACK.search(text, front.end())
    if not back:
        raise Fault("OPEN_FRONT_MATTER", "the front matter is not closed", 0, 3, "end it with a line ---")
    return front.end(), back.start()


def _schedules(root: Pairs, lead: int) -> list[tuple[Form, Scalar]]:
    """Return every scalar that is a schedule, and its form."""
    on = _only(root, "on", lead)
    if isinstance(on, Scalar):
        return [(Form.ON, on)] if _is_sentence(on.value) else []
    if isinstance(on, Items):
        for item in on.items:
            if isinstance(item, Scalar) and _is_sentence(item.value):
                raise _misplaced(item, lead, "sentence in a list of events", "put the sentence under on: schedule:")
        return []
    if not isinstance(on, Pairs) or not on.get("schedule"):
        return []
    return _of_schedule(on, lead)


def _of_schedule(pairs: Pairs, lead: int) -> list[tuple[Form, Scalar]]:
    """Return the schedules under the key `schedule`, which is in the mapping."""
    schedule = _only(pairs, "schedule", lead)
    if isinstance(schedule, Items):
        return [_item(item, lead) for item in schedule.items]
    return [(Form.SCHEDULE, _scalar(schedule, lead))]


def _item(item: Node, lead: int) -> tuple[Form, Scalar]:
    if not isinstance(item, Pairs):
        return Form.ITEM, _scalar(item, lead)
    if not item.get("cron"):
        raise Fault("NO_CRON", "item has no cron key", item.start + lead, item.start + lead + 1, "write - cron: daily")
    return Form.CRON, _scalar(_only(item, "cron", lead), lead)


def _only(pairs: Pairs, key: str, lead: int) -> Node:
    (_, value), *others = pairs.get(key)
    if others:
        raise _misplaced(others[0][0], lead, f"duplicate key {key}", "keep one of them", "DUPLICATE_KEY")
    return value


def _scalar(node: Node, lead: int) -> Scalar:
    if isinstance(node, Scalar) and node.value.strip():
        return node
    if isinstance(node, Scalar):
        raise _misplaced(node, lead, "the schedule is empty", "write one, such as daily", "EMPTY_SCHEDULE")
    if isinstance(node, Alias):
        raise _misplaced(node, lead, "unexpected alias", "write the schedule itself")
    raise Fault("NOT_A_SCHEDULE", "unexpected list or mapping", node.start + lead, node.start + lead + 1, "use text")


def _misplaced(node: Scalar | Alias, lead: int, message: str, hint: str, code: str = "NOT_A_SCHEDULE") -> Fault:
    return Fault(code, message, node.start + lead, max(node.end, node.start + 1) + lead, hint)


def _is_sentence(value: str) -> bool:
    """Return whether the value of `on` is a sentence. Event names are one word, and none of them ends in -ly."""
    words = value.split()
    if len(words) != 1:
        return bool(words)
    word = words[0].lower()
    return word in KEYWORDS or word.endswith("ly") or bool(nearest(word, KEYWORDS))


def _found(form: Form, scalar: Scalar, lead: int, text: str) -> Found:
    value = Span(scalar.value.strip("\r\n"), scalar.start + lead, scalar.end + lead)
    line = _TAIL.match(text, value.end)
    tail = Span(line.group(), line.start(), line.end()) if line else None
    marked = _MARK.match(line[2]) if line and line[2] else None
    if not _CRON.match(value.text):
        if marked:
            hint = "keep one of them"
            raise Fault("TWO_SENTENCES", "both the value and its comment are sentences", value.start, value.end, hint)
        return Found(form, value, tail, _inside(value, text), None)
    if not marked or not line:
        return Found(form, value, tail, None, value.text)
    start = line.start(2) + marked.start(1)
    return Found(form, value, tail, Span(marked[1], start, start + len(marked[1])), value.text)


def _inside(value: Span, text: str) -> Span:
    """Return the sentence without its quotes if the file contains it literally; otherwise the whole value."""
    at = text.find(value.text, value.start, value.end)
    return Span(value.text, at, at + len(value.text)) if at >= 0 else value


def _one_a_line(found: list[Found], text: str) -> None:
    """Reject a comment that could belong to either of two schedules."""
    for before, after in pairwise(found):
        if "\n" not in text[before.value.end : after.value.start] and (after.sentence or before.sentence):
            hint = "put each schedule on a separate line"
            raise Fault("SHARED_LINE", "two schedules are on one line", after.value.start, after.value.end, hint)
