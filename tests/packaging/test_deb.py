"""The Debian package and its manual pages. `make deb-install` installs the package in a new Debian system."""

import re
import shutil
import subprocess

import pytest
from deploy.debian.build import FOLDERS, PROGRAMS, build
from deploy.debian.manual import pages, write_pages

from kron.apps.daemon.options import parser as daemon_parser
from kron.apps.krontab.parser import parser as krontab_parser
from kron.language.krontab_values import KEYS
from tests.docs.page import ROOT

DAY, EPOCH = "2026-03-01", 1_772_323_200
UNIT = ROOT / "deploy" / "krond" / "krond.service"


def text_of(name):
    """The text of a page, without its requests."""
    return re.sub(r"\\f.|\\&", "", pages(DAY)[name]).replace("\\-", "-")


def test_pages_have_every_option_command_and_key():
    options = [
        name for action in daemon_parser()._actions for name in action.option_strings if "help" not in action.dest
    ]
    assert [name for name in options if name not in text_of("krond.8")] == []
    commands = [name for action in krontab_parser()._actions for name in action.choices or ()]
    assert len(commands) >= 12
    assert [name for name in commands if f'.SS "krontab {name}"' not in text_of("krontab.1")] == []
    words = re.findall(r"[a-z]+", text_of("krontab.5"))
    assert [key for key in KEYS if key not in words] == []


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_pages_have_no_warnings(tmp_path):
    for page in write_pages(tmp_path, DAY):
        done = subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, ""), page.name


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_unit_has_no_warnings(tmp_path):
    """krond is not installed here: another program stands in its place."""
    (tmp_path / UNIT.name).write_text(UNIT.read_text().replace("/usr/sbin/krond", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / UNIT.name], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg is not installed")
def test_package_is_reproducible_and_has_its_files(tmp_path):
    package = build(tmp_path / "first", EPOCH)
    assert package.read_bytes() == build(tmp_path / "second", EPOCH).read_bytes()
    listing = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    entries = {line.split()[-1].removeprefix("./"): line.split() for line in listing.splitlines()}
    assert all(entries[name][0] == "-rwxr-xr-x" for name in PROGRAMS)
    modes = {0o755: "drwxr-xr-x", 0o700: "drwx------"}
    assert all(entries[f"{name}/"][0] == modes[mode] for name, mode in FOLDERS.items())
    assert {line[1] for line in entries.values()} == {"root/root"}
    assert not [name for name in entries if "__pycache__" in name]
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "kron").rglob("*.py")}
    packed = {name.removeprefix("usr/lib/python3/dist-packages/") for name in entries if name.endswith(".py")}
    assert packed == source
