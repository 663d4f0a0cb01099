"""Plain words: the source and the documentation name the actor, and use today's words."""

import re

import pytest

from tests.docs.page import ROOT

WORDS = ("nobody", "somebody", "whoever", "beside", "anew", "for ever")  # the one list of words that are not used
FOUND = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
KINDS = {".md", ".py", ".sql", ".tla", ".toml", ".txt", ".yaml", ".yml"}
SPECIFICATION = ROOT / "docs" / "spec"  # the documents are quoted as they are
FOLDERS = ("src", "docs", "deploy")
FILES = sorted(
    path
    for path in (
        ROOT / "README.md",
        ROOT / "compose.yaml",
        *(path for name in FOLDERS for path in (ROOT / name).rglob("*")),
    )
    if path.suffix in KINDS and SPECIFICATION not in path.parents
)


@pytest.mark.parametrize("folder", ["src/kron/rules", "docs/reference", "docs/how-to", "deploy"])
def test_words_are_looked_for_in(folder):
    assert any((ROOT / folder) in path.parents for path in FILES)


def test_words_that_are_not_plain_do_not_occur():
    lines = ((path, n, line) for path in FILES for n, line in enumerate(path.read_text("utf-8").splitlines(), 1))
    assert [f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for path, n, line in lines if FOUND.search(line)] == []
