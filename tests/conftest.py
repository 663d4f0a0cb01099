"""The requirement ids that tests claim must exist."""

import csv
import gc
import os
import zoneinfo
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.postgres import running

if find_spec("tzdata"):  # on every machine, Kron and `zoneinfo` read the package of uv.lock, here and in subprocesses
    os.environ["PYTHONTZPATH"] = ""
    zoneinfo.reset_tzpath()

REQUIREMENTS = Path(__file__).parent.parent / "docs" / "spec" / "requirements.tsv"


def pytest_configure() -> None:
    """Fewer examples of each law where somebody asks for that. An example has no deadline: the machine may be busy."""
    from hypothesis import settings  # not before pytest has seen it

    examples = int(os.environ.get("KRON_TEST_EXAMPLES", "100"))
    settings.register_profile("kron", max_examples=examples, deadline=None)
    settings.load_profile("kron")


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
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
    for item in items:
        if item.get_closest_marker("campaign"):
            item.add_marker(pytest.mark.timeout(0))


def pytest_collection_finish() -> None:
    """The tests themselves are no garbage: without them a collection takes milliseconds, not a second."""
    gc.collect()
    gc.freeze()


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
