"""Word diff: what changed between two texts, word by word, and what else changed between two definitions."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from kron.language.source import shown_source
from kron.timing.job import Job

MAX_WORDS = 200  # of each text; the rest is not compared


class Piece(NamedTuple):
    """Words that stayed (`same`), were added (`ins`) or removed (`del`)."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[Piece]:
    """Return the pieces of two texts. Those without the added ones are `before`, those without the removed `after`."""
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > MAX_WORDS:
        return [Piece("del", before), Piece("ins", after)]
    pieces = list[Piece]()
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", " ".join(old[old_start:old_end])))
            continue
        if old_end > old_start:
            pieces.append(Piece("del", " ".join(old[old_start:old_end])))
        if new_end > new_start:
            pieces.append(Piece("ins", " ".join(new[new_start:new_end])))
    return pieces


def definition_diff(before: Job, after: Job) -> list[Piece]:
    """Return the pieces of the source texts of two definitions, with their zones; empty if the texts are equal."""
    old, new = (f"{source.text} {source.zone or ''}".strip() for source in (shown_source(before), shown_source(after)))
    return word_diff(old, new) if old != new else []


def other_changes(before: Job, after: Job) -> list[str]:
    """Return what changed between two definitions apart from the text."""
    names = {
        "policy": before.schedule.policy != after.schedule.policy,
        "target": (before.target, before.command, before.webhook) != (after.target, after.command, after.webhook),
        "payload": before.payload != after.payload,
        "labels": before.labels != after.labels,
        "validity": (before.start, before.end) != (after.start, after.end),
        "description": (before.name, before.description) != (after.name, after.description),
    }
    return [name for name, has_changed in names.items() if has_changed]
