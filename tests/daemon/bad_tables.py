"""The golden tables that krond refuses, with what it says about each: the place, the reason, carets and a hint.

`tests/golden/bad_tables.txt` has the form of the golden diagnostics. To let the code write what it says now, and to
review it as a diff:

    python -m tests.daemon.bad_tables --write && git diff tests/golden
"""

import sys
from pathlib import Path

from kron.apps.host.account import Account
from kron.apps.host.tables import Table, TableFolder
from tests.language.golden import Case, cases_of, text_of

FILE = Path(__file__).parents[1] / "golden" / "bad_tables.txt"
FOLDER = Path("/etc/krond.d")  # of the golden file; it is not opened
OWNER = Account("alice", 4711, frozenset({"alice", "4711"}))


def bad_tables() -> list[Case]:
    """The tables, as the golden file has them."""
    return cases_of(FILE, "krond")


def checked(case: Case) -> Table:
    """The table as krond reads it in a folder of a user."""
    return TableFolder(FOLDER, {OWNER.uid}, OWNER).check("table", case.input.encode())


def answer_of(case: Case) -> str:
    """What krond says about a table now."""
    return "\n".join(map(str, checked(case).problems))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    FILE.write_text(text_of((case, answer_of(case)) for case in bad_tables()), encoding="utf-8")
