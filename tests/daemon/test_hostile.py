"""Tables that krond must refuse: 50 golden ones with carets, and files that are traps. `make krond-hostile`."""

import itertools
import os

import pytest

from kron.apps.host import table_file, tables
from kron.apps.host.tables import TableFolder
from kron.rules.run_state import State
from tests.daemon.bad_tables import answer_of, bad_tables, checked
from tests.daemon.krond import EVERY_SECOND, NEVER, kron, until
from tests.daemon.test_tables import GOOD, HOSTILE, ME, scan, table

CASES = bad_tables()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.remarks[0][2:])
def test_bad_table_is_refused_with_its_place_carets_and_a_hint(case):
    found = checked(case)
    assert found.jobs == () and all(each.hint and "^" in each.place.excerpt() for each in found.problems)
    assert answer_of(case) == case.expected


def test_there_are_50_bad_tables():
    assert len({case.written for case in CASES}) == len(CASES) == 50


def test_table_that_is_replaced_while_it_is_read_waits_for_the_next_scan(folder, monkeypatch):
    path, other = table(folder), table(folder.parent, "new", GOOD.replace("nightly", "replaced"))
    reader, open_file = TableFolder(folder, {ME}), os.open

    def opened(name, flags, **more):
        file = open_file(name, flags, **more)
        if name == path.name and other.exists():
            other.replace(path)
        return file

    monkeypatch.setattr(table_file.os, "open", opened)
    (problem,) = reader.scan().tables[str(path)].problems
    assert (problem.code, problem.message) == ("UNSAFE_FILE", f"{path} changed while it was read")
    assert [job.name for job in reader.scan().tables[str(path)].jobs] == ["replaced"]


def test_file_that_is_written_while_it_is_read_is_refused(folder, monkeypatch):
    path, read_size = table(folder), os.fstat
    monkeypatch.setattr(table_file.os, "fstat", lambda file: _append(path) or read_size(file))
    (problem,) = scan(folder).tables[str(path)].problems
    assert (problem.code, problem.message) == ("UNSAFE_FILE", f"{path} changed while it was read")


def _append(path):
    with path.open("a") as file:
        file.write("# more\n")


def test_100000_files_are_not_read_nor_counted_to_the_end(folder, monkeypatch):
    """The names are those of a folder with 100,000 files. Reading stops after the first that is too many."""
    seen = itertools.count()

    class Entries(list):
        def __enter__(self):
            return (entry for entry in self if next(seen) >= 0)

        def __exit__(self, *error):
            return None

    table(folder)
    (entry,) = os.scandir(folder)
    monkeypatch.setattr(tables.os, "scandir", lambda file: Entries([entry] * 100_000))
    monkeypatch.setattr(tables, "read_file", lambda *more: pytest.fail("a table was read"))
    with pytest.raises(tables.KronError, match="more than 10,000 files"):
        scan(folder)
    assert next(seen) == tables.MAX_NAMES + 1


def make_hostile(krond):
    """Put each bad table and each trap into the folder of a daemon. Returns the expected codes by path."""
    codes = {}
    for number, case in enumerate(CASES):
        path = table(krond.tables, f"golden{number}", case.input)
        codes[str(path)] = [each.code for each in checked(case).problems]
    for number, (make, code, _) in enumerate(HOSTILE.values()):
        place = krond.folder / f"trap{number}" / "tables"
        place.mkdir(parents=True)
        make(place)
        path = krond.tables / f"trap{number}"
        (place / "table").rename(path)
        codes[str(path)] = [code]
    if ME == 0:
        os.mknod(krond.tables / "device", 0o20644, os.makedev(1, 5))  # /dev/zero, which never ends
        codes[str(krond.tables / "device")] = ["UNSAFE_FILE"]
    return codes


@pytest.mark.slow
def test_krond_refuses_all_of_them_and_runs_the_good_table(krond):
    """And the version that a table had before it became bad stays in force, whatever it becomes."""
    codes = make_hostile(krond)
    krond.write("good", krond.job("tick", "true", EVERY_SECOND))
    krond.write("edited", krond.job("old", "true", EVERY_SECOND))
    krond.write("replaced", krond.job("old", "true", NEVER))
    krond.start()
    refused = {}
    for event in krond.events("table_refused"):
        refused.setdefault(event["path"], []).append(event["code"])
        assert event["error"] and event["hint"] and event["kept"] == 0, event
    assert refused == codes
    excerpts = [event.get("excerpt", "") for event in krond.events("table_refused") if "/golden" in event["path"]]
    assert all("^" in excerpt for excerpt in excerpts)
    krond.write("edited", krond.job("old", "true", NEVER), "0 25 * * * name=new command=true")
    (krond.tables / "replaced").unlink()
    os.mkfifo(krond.tables / "replaced", 0o644)
    (bad, fifo) = until(lambda: _kept(krond, "edited") + _kept(krond, "replaced"))[:2]
    assert (bad["code"], bad["kept"], fifo["code"], fifo["kept"]) == ("OUT_OF_RANGE", 1, "UNSAFE_FILE", 1)
    for name, identity in (("tick", "good"), ("old", "edited")):
        seen = len(krond.runs(name, identity))
        until(lambda n=name, i=identity, s=seen: len([r for r in krond.runs(n, i) if r.state is State.SUCCESS]) > s)
    assert krond.names() == sorted(
        krond.identity(*pair) for pair in (("tick", "good"), ("old", "edited"), ("old", "replaced"))
    )
    assert krond.stop() == 0
    assert kron("audit", "--store", f"sqlite:{krond.state}").returncode == 0


def _kept(krond, name):
    return [event for event in krond.events("table_refused") if event["path"] == str(krond.tables / name)]
