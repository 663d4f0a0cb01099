"""The tz databases of a host: which of them is read, what version it has, and what identifies the rules of a zone."""

import copy
import os
import pickle
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kron.timing.tzdata import TzDatabase, fingerprint_of, folder_database, installed_database, search_order
from kron.timing.zone import zone, zone_in

DATA = Path(__file__).parents[1] / "data"
OLD, NEW = DATA / "tzdata-2025b.whl", DATA / "tzdata-2026f.whl"
VANCOUVER = "America/Vancouver"
DECEMBER = 1_796_000_000  # 2026-11-30T04:53:20Z: 2025b has winter time in Vancouver, 2026f has not


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack the zone files of a wheel, as a system would install them."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "tzdata" / "zoneinfo"


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    return unpacked(OLD, tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return unpacked(NEW, tmp_path_factory.mktemp("new"))


def without_version(folder: Path, target: Path) -> Path:
    (target / "America").mkdir(parents=True)
    (target / "America" / "Vancouver").write_bytes((folder / "America" / "Vancouver").read_bytes())
    return target


def report(script: str, packages: Path | None = None, **environment: str) -> list[str]:
    """Run a script in a process whose `tzdata` package is in the folder `packages`."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONTZPATH"}
    path = os.pathsep.join([*([str(packages)] if packages else []), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**clean, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


class TestVersion:
    @pytest.mark.parametrize(
        ("file", "content", "version"),
        [
            ("tzdata.zi", "# version 2025b\n# ddeps\n", "2025b"),
            ("tzdata.zi", "# version 2026za\n", "2026za"),
            ("tzdata.zi", "# version 2025b-3-gabc-dirty\n", "2025b"),
            ("+VERSION", "2024a\n", "2024a"),
            ("tzdata.zi", "# version unknown\n", None),
            ("tzdata.zi", "", None),
            ("zone.tab", "# version 2025b\n", None),
        ],
    )
    def test_folder_states_its_version_in_a_file(self, tmp_path, file, content, version):
        (tmp_path / file).write_text(content)
        assert folder_database(tmp_path).version == version

    def test_installed_package_has_the_iana_name(self):
        tzdata = pytest.importorskip("tzdata")
        assert installed_database().version == tzdata.IANA_VERSION
        assert "." not in tzdata.IANA_VERSION

    def test_host_without_the_package_has_no_installed_database(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tzdata", None)
        assert installed_database() is None


class TestOrder:
    """`search_order(folders, package, is_explicit)`."""

    @pytest.mark.parametrize(
        ("system", "package", "is_explicit", "first"),
        [
            ("2025b", "2026f", False, "package"),
            ("2026f", "2025b", False, "system"),
            ("2025z", "2025za", False, "package"),
            ("2026f", "2026f", False, "system"),
            (None, "2020a", False, "package"),
            ("2025b", "2026f", True, "system"),
            (None, "2026f", True, "system"),
        ],
    )
    def test_the_newest_is_first_unless_the_user_names_a_folder(self, system, package, is_explicit, first):
        one, two = TzDatabase(Path("system"), system), TzDatabase(Path("package"), package)
        order = search_order((one,), two, is_explicit)
        assert [database.root.name for database in order] == sorted(("system", "package"), key=lambda n: n != first)

    def test_the_only_database_is_used(self):
        one = TzDatabase(Path("system"), None)
        assert search_order((one,), None, False) == (one,)
        assert search_order((), one, False) == (one,)
        assert search_order((), None, False) == ()


ASK = """
from kron.timing.zone import zone, zone_names
z = zone("America/Vancouver")
print(z.version, z.wall(1796000000).offset, len(zone_names()))
"""


@pytest.mark.parametrize(
    ("folder", "package", "explicit", "version", "offset"),
    [
        (OLD, NEW, False, "2026f", -25_200),
        (NEW, OLD, False, "2026f", -25_200),
        (OLD, NEW, True, "2025b", -28_800),
        (OLD, OLD, False, "2025b", -28_800),
    ],
)
def test_process_reads_the_newest_or_the_named_folder(tmp_path, folder, package, explicit, version, offset):
    root = unpacked(folder, tmp_path / "system")
    unpacked(package, tmp_path / "packages")
    move = f"import zoneinfo; zoneinfo.reset_tzpath(to=[{str(root)!r}])\n"
    environment = {"PYTHONTZPATH": str(root)} if explicit else {}
    answer = report(("" if explicit else move) + ASK, tmp_path / "packages", **environment)
    assert answer[:2] == [version, str(offset)]
    assert int(answer[2]) == len(folder_database(root).names())


def test_name_that_the_newest_lacks_is_read_from_the_other(tmp_path, old):
    system = without_version(old, tmp_path / "system")
    script = (
        f"import zoneinfo; zoneinfo.reset_tzpath(to=[{str(system)!r}])\n"
        + """
import tzdata
from kron.timing.zone import zone
print(zone("America/Vancouver").version == tzdata.IANA_VERSION, zone("Europe/Berlin").version == tzdata.IANA_VERSION)
"""
    )
    pytest.importorskip("tzdata")
    assert report(script) == ["True", "True"]
    named = "from kron.timing.zone import zone\nprint(zone('America/Vancouver').version, zone('Europe/Berlin').version)"
    assert report(named, PYTHONTZPATH=str(system))[0] == "unknown"


def test_empty_path_leaves_the_package(tmp_path):
    tzdata = pytest.importorskip("tzdata")
    assert report(ASK, PYTHONTZPATH="")[0] == tzdata.IANA_VERSION


class TestDatabase:
    def test_names_are_those_of_the_zone_files(self, new):
        names = folder_database(new).names()
        assert {"America/Vancouver", "Europe/Berlin", "UTC"} <= names
        assert not {"tzdata.zi", "__init__.py", "zone.tab", "leapseconds"} & names
        with zipfile.ZipFile(NEW) as archive:
            stored = {name.removeprefix("tzdata/zoneinfo/") for name in archive.namelist()}
        assert names <= stored

    @pytest.mark.parametrize("name", ["Mars/Base", "America", "tzdata.zi", "Europe/Berlin/x"])
    @pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
    def test_name_without_a_zone_file_is_unknown(self, new, name, packed):
        database = folder_database(zipfile.Path(NEW, "tzdata/zoneinfo/") if packed else new)
        with pytest.raises(LookupError):
            database.read(name)

    def test_folders_of_other_builds_are_not_listed(self, tmp_path, new):
        berlin = (new / "Europe" / "Berlin").read_bytes()
        for folder in ("posix", "right", "Europe"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "Berlin").write_bytes(berlin)
        (tmp_path / "localtime").write_bytes(berlin)
        assert folder_database(tmp_path).names() == {"Europe/Berlin"}


class TestFingerprint:
    def test_it_is_the_start_of_the_sha256_of_the_file(self, new):
        content = (new / "America" / "Vancouver").read_bytes()
        assert fingerprint_of(content) == "7d23681b"
        assert zone_in(folder_database(new), VANCOUVER).fingerprint == "7d23681b"

    def test_it_differs_exactly_where_the_files_differ(self, old, new):
        one, two = folder_database(old), folder_database(new)
        assert zone_in(one, VANCOUVER).fingerprint != zone_in(two, VANCOUVER).fingerprint
        assert zone_in(one, "Europe/Berlin").fingerprint == zone_in(two, "Europe/Berlin").fingerprint

    def test_utc_needs_no_database(self):
        script = """
import sys, zoneinfo
zoneinfo.reset_tzpath(to=[])
sys.modules["tzdata"] = None
from kron.timing.zone import zone
print(zone("UTC").version, zone("UTC").fingerprint)
"""
        assert report(script) == ["None", zone("UTC").fingerprint]

    def test_fixed_offset_has_a_fingerprint_of_its_own(self, old, new):
        five, utc = zone_in(folder_database(old), "Etc/GMT+5"), zone_in(folder_database(new), "UTC")
        assert (five.version, utc.version) == (None, None)
        assert five.fingerprint == zone_in(folder_database(new), "Etc/GMT+5").fingerprint
        assert five.fingerprint != utc.fingerprint == zone("UTC").fingerprint


def test_broken_zone_file_is_an_unknown_zone(tmp_path):
    (tmp_path / "Broken").write_bytes(b"TZif2" + bytes(10))
    with pytest.raises(LookupError):
        zone_in(folder_database(tmp_path), "Broken")


def test_zone_of_a_given_database_has_its_rules(old, new):
    assert zone_in(folder_database(old), VANCOUVER).wall(DECEMBER).offset == -28_800
    assert zone_in(folder_database(new), VANCOUVER).wall(DECEMBER).offset == -25_200
    with pytest.raises(LookupError):
        zone_in(folder_database(new), "Mars/Base")


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin"])
def test_datetime_in_a_zone_can_be_pickled_and_copied(name):
    local = datetime(2026, 7, 1, 12, tzinfo=UTC).astimezone(zone(name).rules)
    for twin in (pickle.loads(pickle.dumps(local)), copy.copy(local), copy.deepcopy(local)):
        assert twin == local
        assert twin.tzinfo is local.tzinfo
        assert (twin.utcoffset(), twin.tzname()) == (local.utcoffset(), local.tzname())
