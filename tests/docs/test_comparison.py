"""Every feature of Kron in the comparison is shown by a test that exists."""

import pytest

from tests.docs.page import ROOT, table

FEATURES = table(ROOT / "docs" / "evaluate" / "comparison.md", "features")
SHOWN = [row for row in FEATURES if row[1] != "No"]


@pytest.mark.parametrize("row", SHOWN, ids=[row[0] for row in SHOWN])
def test_feature_has_a_test(row):
    file, _, name = row[-1].partition("::")
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_features_that_kron_lacks_are_listed_without_a_test():
    assert [row[-1] for row in FEATURES if row[1] == "No"] == ["–", "–"]
