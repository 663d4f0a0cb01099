"""`kron tzdiff` with the wheels of 2025b and 2026f."""

import json
import zipfile
from pathlib import Path

import pytest

from kron.timing.tzdata import installed_database, system_databases
from tests.timing.test_zone_changes import EXPECTED

DATA = Path(__file__).parents[1] / "data"
OLD, NEW = str(DATA / "tzdata-2025b.whl"), str(DATA / "tzdata-2026f.whl")
AT = ("--at", "2026-11-17T00:00:00Z")
FILE = """
0 9 * * * @tz(America/Vancouver) name=billing command=/bin/true
30 2 * * * @tz(America/Vancouver) name=night command=/bin/true
0 9 * * * @tz(Europe/Berlin) name=report command=/bin/true
0 9 * * * name=plain command=/bin/true
"""


def test_zones_that_differ_are_the_frozen_list(kron):
    result = kron("tzdiff", OLD, NEW, *AT, "-o", "json")
    assert result.status == 2
    found = json.loads(result.out)
    assert (found["old"], found["new"], found["names"]) == ("2025b", "2026f", 60)
    assert (found["from"], found["to"]) == ("2026-11-17T00:00:00Z", "2028-11-17T00:00:00Z")
    keys = ("name", "links", "differs_from", "old_offset", "new_offset")
    assert [tuple(zone[key] for key in keys) for zone in found["zones"]] == [
        (name, list(links), *rest) for name, links, *rest in EXPECTED
    ]
    assert (found["removed"], found["added"], found["schedules"]) == ([], [], [])


def test_text_names_versions_zones_and_links(kron):
    lines = kron("tzdiff", OLD, NEW, *AT).out.splitlines()
    assert lines[0] == (
        "tz database 2025b -> 2026f, 2026-11-17T00:00:00Z to 2028-11-17T00:00:00Z: 15 of 60 names differ"
    )
    assert lines[4] == "America/Edmonton   2026-11-17T00:00:00Z  -07:00  -06:00  America/Yellowknife, Canada/Mountain"
    assert len(lines) == 2 + len(EXPECTED)


def test_guide_shows_the_output(kron, krontab):
    page = (DATA.parents[1] / "docs" / "how-to" / "update-tz-database.md").read_text(encoding="utf-8")
    zones, schedules = kron("tzdiff", OLD, NEW, str(krontab(FILE)), *AT).out.split("\n\n")
    assert zones.partition("\n")[2] in page
    assert schedules in page


def test_equal_databases_exit_0(kron):
    result = kron("tzdiff", NEW, NEW, *AT)
    assert (result.status, len(result.out.splitlines())) == (0, 1)
    assert "0 of 60 names differ" in result.out


def test_years_limit_the_comparison(kron):
    found = json.loads(kron("tzdiff", OLD, NEW, "--at", "2016-01-01T00:00:00Z", "--years", "1", "-o", "json").out)
    assert (found["to"], found["zones"]) == ("2017-01-01T00:00:00Z", [])
    leap = json.loads(kron("tzdiff", NEW, NEW, "--at", "2028-02-29T00:00:00Z", "--years", "1", "-o", "json").out)
    assert leap["to"] == "2029-02-28T00:00:00Z"


def test_schedules_in_those_zones_show_their_runs(kron, krontab):
    path = krontab(FILE)
    result = kron("tzdiff", OLD, NEW, str(path), *AT)
    assert result.status == 2
    assert result.out.splitlines()[-12:] == [
        "",
        "billing (America/Vancouver): 255 runs moved",
        "  moved  2026-11-17T17:00:00Z -> 2026-11-17T16:00:00Z",
        "  moved  2026-11-18T17:00:00Z -> 2026-11-18T16:00:00Z",
        "  moved  2026-11-19T17:00:00Z -> 2026-11-19T16:00:00Z",
        "  and 252 more",
        "night (America/Vancouver): 255 runs moved, 2 runs added",
        "  moved  2026-11-17T10:30:00Z -> 2026-11-17T09:30:00Z",
        "  moved  2026-11-18T10:30:00Z -> 2026-11-18T09:30:00Z",
        "  moved  2026-11-19T10:30:00Z -> 2026-11-19T09:30:00Z",
        "  and 254 more",
        "2 of 4 schedules affected",
    ]
    schedules = json.loads(kron("tzdiff", OLD, NEW, str(path), *AT, "-o", "json").out)["schedules"]
    assert [one["counts"] for one in schedules] == [
        {"moved": 255, "lost": 0, "added": 0},
        {"moved": 255, "lost": 0, "added": 2},
        {"moved": 0, "lost": 0, "added": 0},
        {"moved": 0, "lost": 0, "added": 0},
    ]
    assert schedules[1]["runs"][-1]["change"] == "moved"
    assert {"change": "added", "old": None, "new": "2027-03-14T09:30:00Z"} in schedules[1]["runs"]


def test_folder_unpacked_wheel_and_zip_are_the_same_database(kron, tmp_path):
    with zipfile.ZipFile(NEW) as archive:
        archive.extractall(tmp_path)
    for folder in (tmp_path, tmp_path / "tzdata" / "zoneinfo"):
        assert kron("tzdiff", NEW, str(folder), *AT).status == 0


def test_system_and_wheel_are_the_databases_of_the_host(kron, monkeypatch, tmp_path):
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path)
    monkeypatch.setattr("zoneinfo.TZPATH", (str(tmp_path / "tzdata" / "zoneinfo"),))
    assert [database.version for database in system_databases()] == ["2025b"]
    found = json.loads(kron("tzdiff", "system", OLD, *AT, "-o", "json").out)
    assert (found["old"], found["zones"]) == ("2025b", [])
    pytest.importorskip("tzdata")
    found = json.loads(kron("tzdiff", "system", "wheel", *AT, "-o", "json").out)
    assert (found["old"], found["new"]) == ("2025b", installed_database().version)
    assert "Africa/Lagos" in found["added"]


def test_zone_that_the_new_database_lacks_is_named(kron, krontab, tmp_path):
    with zipfile.ZipFile(NEW) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "tzdata" / "zoneinfo" / "Europe" / "Berlin").unlink()
    result = kron("tzdiff", NEW, str(tmp_path), str(krontab(FILE)), *AT)
    assert result.status == 2
    assert "only in OLD: Europe/Berlin\n" in result.out
    assert "report (Europe/Berlin): NEW lacks the zone\n1 of 4 schedules affected\n" in result.out


def test_source_without_a_tz_database_is_an_error(kron, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("no database")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    monkeypatch.setattr("zoneinfo.TZPATH", ())
    for source in (tmp_path, tmp_path / "text", tmp_path / "other.whl", tmp_path / "missing", "system"):
        result = kron("tzdiff", str(source), NEW)
        assert (result.status, result.out) == (1, "")
        assert f"error[NOT_FOUND]: {source}: no tz database found" in result.err


def test_damaged_wheel_is_an_error(kron, tmp_path):
    content = bytearray(Path(NEW).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = bytes(4000)
    (tmp_path / "damaged.whl").write_bytes(content)
    result = kron("tzdiff", str(tmp_path / "damaged.whl"), OLD)
    assert (result.status, result.out) == (1, "")
    assert "error[NOT_FOUND]: a wheel file is damaged" in result.err


def test_invalid_krontab_is_an_error(kron, krontab):
    result = kron("tzdiff", OLD, NEW, str(krontab("0 25 * * * name=a command=/bin/true\n")))
    assert (result.status, result.out) == (1, "")
    assert "error[" in result.err


@pytest.mark.parametrize("words", [("--years", "0"), ("--years", "101"), ("--at", "tomorrow")])
def test_wrong_options_are_refused(kron, words):
    assert kron("tzdiff", OLD, NEW, *words).status == 2
