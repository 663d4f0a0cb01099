"""Which clauses of the specification no test claims: `make requirements`.

Prints every unclaimed id on a line of its own, with its text, then claimed/total for each document.
"""

import csv
import sys
from collections import Counter

import pytest

from tests.conftest import REQUIREMENTS, claimed, known_requirements


class Claims:
    """Gathers the ids of every test, without running any."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.ids = {id for item in session.items for id in claimed(item)}


def main() -> int:
    claims = Claims()
    status = pytest.main(["--collect-only", "-o", "addopts=", "-p", "no:terminal", "-p", "no:xdist"], plugins=[claims])
    if status != pytest.ExitCode.OK:
        print(f"the tests could not be collected ({status!r}); run pytest --collect-only to see why", file=sys.stderr)
        return 1
    with REQUIREMENTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["id"] not in claims.ids:
                print(row["id"], row["requirement"], sep="\t")
    known = known_requirements()
    total, proved = Counter(known.values()), Counter(known[id] for id in claims.ids)
    for document, count in sorted(total.items()):
        print(f"{document}: {proved[document]}/{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
