"""The guide on schedules from elsewhere: each row of its tables is read as the row says."""

import pytest

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical
from tests.docs.page import ROOT

GUIDE = ROOT / "docs" / "how-to" / "bring-schedules.md"
START = "DTSTART:20260105T090000 "


def rows():
    """The dialect, the texts, and the canonical text of each row; None if the row says that it is refused."""
    dialect = ""
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            dialect = line.rpartition("`")[0].rpartition("`")[2] if "`" in line else ""
        if not dialect or not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        text = cells[-1].rstrip("| ")
        expected = text.strip("`") if text.startswith("`") else None
        is_refused = any(cell.startswith("Refused") for cell in cells)
        if expected is None and not is_refused:
            continue
        for written in cells[0].strip("`").split("`, `"):
            yield dialect, START + written if dialect == "rrule" else written, None if is_refused else expected


@pytest.mark.parametrize(("dialect", "text", "expected"), list(rows()))
def test_a_row_of_the_guide_is_read_as_it_says(dialect, text, expected):
    if expected is not None:
        assert canonical(parse(text, dialect=dialect)).text == expected
        return
    with pytest.raises(LanguageError):
        parse(text, dialect=dialect)


def test_the_guide_has_rows_of_the_readers():
    assert {dialect for dialect, _, _ in rows()} >= {"vixie", "quartz", "aws", "rrule"}
    assert len(list(rows())) > 25
