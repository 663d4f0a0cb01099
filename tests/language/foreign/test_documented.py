"""The examples of the Quartz and EventBridge documentation. Each file of vectors names its pages."""

import json
from itertools import islice
from pathlib import Path

import pytest

from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.period import nominals
from kron.timing.zone import instant_of, rfc3339

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = {dialect: json.loads((FOLDER / f"{dialect}.json").read_text("utf-8")) for dialect in ("quartz", "aws")}
ROWS = [(dialect, row) for dialect, vectors in VECTORS.items() for row in vectors["rows"]]


@pytest.mark.parametrize(("dialect", "row"), ROWS, ids=[row["text"] for _, row in ROWS])
def test_a_documented_example_runs_as_its_page_says(dialect, row):
    schedule = parse(row["text"], dialect=dialect)
    after = instant_of(VECTORS[dialect]["after"])
    assert canonical(schedule).text == row["canonical"]
    assert [rfc3339(nominal) for nominal in islice(nominals(schedule, after), 3)] == row["first"]
    assert parse(canonical(schedule).text, dialect=canonical(schedule).dialect) == schedule
