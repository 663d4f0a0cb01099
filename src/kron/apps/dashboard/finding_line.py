"""Finding as a line of a page: its icon, its color, and the part of the text that it is about."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.dashboard.refusal import Marked, marked_text
from kron.language.finding import Finding

_LEVELS = {"error": ("i-fail", "fail"), "warning": ("i-warn", "miss"), "note": ("i-due", "due")}
_CLOCK_CHANGES = dict.fromkeys(("DST_GAP", "DST_FOLD", "STANDS_STILL"), ("i-dst", "uns"))  # by code


class FindingLine(NamedTuple):
    """Finding as a line of the list. `marked` is None if the finding is about the whole text."""

    finding: Finding
    icon: str
    tone: str
    marked: Marked | None


def finding_line(finding: Finding) -> FindingLine:
    """Return the line of a finding."""
    icon, tone = _CLOCK_CHANGES.get(finding.code, _LEVELS[finding.level])
    place = finding.place
    is_part = (place.start, place.end) != (0, len(place.text))
    return FindingLine(finding, icon, tone, marked_text(place.text, place.start, place.end) if is_part else None)
