"""The requirement ids that tests claim must exist."""

import csv
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import running

settings.register_profile("few", max_examples=20)  # for another Python: the laws are examined by the first

REQUIREMENTS = Path(__file__).parent.parent / "docs" / "spec" / "requirements.tsv"


def known_requirements() -> dict[str, str]:
    """Each requirement id, with the document it is from."""
    with REQUIREMENTS.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["source"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def claimed(item: pytest.Item) -> list[str]:
    """The ids that a test claims."""
    return [id for mark in item.iter_markers("req") for id in mark.args]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = known_requirements()
    unknown = {f"{id} ({item.nodeid})" for item in items for id in claimed(item) if id not in known}
    if unknown:
        raise pytest.UsageError("no such requirement: " + ", ".join(sorted(unknown)))


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL, one for each process of pytest that asks for it."""
    with running() as server:
        yield server


@pytest.fixture
def database(server):
    """The URL of a database of its own, with the tables of Kron."""
    name = server.database()
    yield server.url(name)
    server.drop(name)
