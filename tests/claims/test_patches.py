"""Each patch still finds the lines that it replaces: otherwise it would prove nothing."""

import pytest

from tests.claims.__main__ import ROOT
from tests.claims.patches import PATCHES


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.id)
def test_patch_finds_the_lines_that_it_replaces(patch):
    assert (ROOT / "src" / "kron" / patch.path).read_text().count(patch.old) == 1
