"""Files, functions and classes stay small enough to be read at once."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kron"
FILES = sorted(SOURCE.rglob("*.py"))
STORES = {"Store", "MemoryStore", "SqliteStore", "PostgresStore", "FaultyStore"}  # as many methods as the protocol


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_file_functions_and_classes_are_within_their_limits(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 40, node.name
        if isinstance(node, ast.ClassDef) and node.name not in STORES:
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            assert len([each for each in methods if not each.name.startswith("_")]) <= 15, node.name
