"""The folder of the users' tables: whose they are, what is refused, and which starts are counted together."""

import os
import time
from pathlib import Path

import pytest

from kron.apps.daemon.user_limits import UserLanes
from kron.apps.host import spool
from kron.apps.host.account import expired_names, own_account
from kron.apps.host.place import HOST_SOCKET, HOST_SPOOL, Place, place_of
from kron.apps.host.spool import SpoolFolder
from kron.engine.clock import SystemTimer
from kron.engine.target_limit import TargetLimits
from kron.errors import InvalidInput

ME = own_account()
GOOD = "0 3 * * * name=nightly command=true\n"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "spool"
    path.mkdir(mode=0o700)
    (tmp_path / "shadow").write_text(f"{ME.name}:*:19000:0:99999:7:::\n")
    return SpoolFolder(path, {ME.uid}, shadow=tmp_path / "shadow")


def write(folder, name=ME.name, text=GOOD):
    (folder.path / name).write_text(text)
    (folder.path / name).chmod(0o600)
    return str(folder.path / name)


def problem(folder, path):
    table = folder.scan().tables[path]
    return table.problems[0].code, table.is_void


@pytest.mark.privileges
def test_job_runs_as_the_user_whose_name_the_file_has(folder):
    path = write(folder, text=f"0 3 * * * name=a command=true\n0 3 * * * name=b user={ME.name} command=true\n")
    assert [job.command.user for job in folder.scan().tables[path].jobs] == [str(ME.uid)] * 2


@pytest.mark.privileges
def test_expired_account_loses_its_jobs_until_it_is_renewed(folder):
    path = write(folder)
    today = int(time.time()) // 86_400
    for days, is_expired in ((today + 1, False), (today, True), (1, True)):
        folder.shadow.write_text(f"other:*:::::::\n{ME.name}:*:19000:0:99999:7::{days}:\n")
        assert bool(folder.scan().tables[path].problems) == is_expired, days
    assert problem(folder, path) == ("ACCOUNT_EXPIRED", True)
    assert folder.check(ME.name, GOOD.encode()).problems[0].code == "ACCOUNT_EXPIRED"
    refused = folder.scan().tables[path]
    assert folder.scan().tables[path] is refused, "an unchanged problem would be logged with each scan"
    folder.shadow.write_text(f"{ME.name}:*:19000:0:99999:7:::\n")
    assert len(folder.scan().tables[path].jobs) == 1


def test_shadow_that_cannot_be_read_expires_no_one(tmp_path):
    assert expired_names(tmp_path / "nothing") == frozenset()
    (tmp_path / "shadow").write_bytes(b"\xff:\nshort\na:::::::x:\nb:::::::1:\n")
    assert expired_names(tmp_path / "shadow") == {"b"}


@pytest.mark.privileges
def test_account_that_does_not_exist_has_no_jobs(folder):
    assert problem(folder, write(folder, "no-such-user")) == ("NO_ACCOUNT", True)


@pytest.mark.privileges
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_file_of_another_user_has_no_jobs(folder):
    path = write(folder)
    os.chown(path, 4711, 4711)
    assert problem(folder, path) == ("UNSAFE_FILE", True)


def test_wrong_line_keeps_the_last_valid_version(folder):
    assert problem(folder, write(folder, text="nonsense\n")) == ("FIELD_COUNT", False)


@pytest.mark.parametrize("name", ["0", "4711", ".draft.0123", "a:b", "a b"])
def test_names_that_no_user_should_have_are_ignored(folder, name):
    write(folder, name)
    assert (folder.scan().tables, folder.scan().ignored) == ({}, (name,))


@pytest.mark.parametrize("output", ["stdout=inherit", "stderr=journal"])
def test_output_that_the_log_would_show_as_that_of_krond_is_refused(folder, output):
    (found,) = folder.check(ME.name, f"0 3 * * * name=a {output} command=true\n".encode()).problems
    assert (found.code, found.place.text[found.place.start : found.place.end]) == ("FOREIGN_USER", output)
    assert f"write {output.partition('=')[0]}=capture" in found.hint


def test_limits_of_a_user(folder, monkeypatch):
    monkeypatch.setattr(spool, "MAX_USER_JOBS", 1)
    two = folder.check(ME.name, (GOOD + GOOD.replace("nightly", "other")).encode())
    assert (two.jobs, two.problems[0].code) == ((), "TOO_LONG") and "has 2 jobs" in two.problems[0].message
    large = folder.check(ME.name, GOOD.encode() + b"#" * (1 << 20))
    assert large.problems[0].code == "TOO_LONG" and "larger than 1 MiB" in large.problems[0].message


def test_starts_are_counted_by_user(folder):
    path = write(folder)
    (job,) = folder.scan().tables[path].jobs
    lanes = UserLanes(folder.path)
    assert (lanes.lane_of(job), UserLanes(Path("/other")).lane_of(job)) == (f"user {ME.name}", "command")
    assert UserLanes(None).limits == ()
    limits = TargetLimits(lanes.limits, SystemTimer(), lambda kind: 1, 10.0)
    for target in ("user alice", "command"):
        limits.register(target, "command")
    for _ in range(20):
        limits.begin("user alice"), limits.begin("command")
    assert (limits.free("user alice"), limits.free("command") > 1_000) == (0, True)
    assert limits.cause("user alice") == "the limit of user alice (20 launches per second) is reached"


def test_daemon_with_other_folders_has_no_default_spool_and_socket():
    host = place_of(None, None, user=False)
    assert (host.spool, host.socket) == (HOST_SPOOL, HOST_SOCKET)
    assert place_of("/etc/krond.d", "/var/lib/krond/state.db", user=False) == host
    other = place_of("/a/tables", "/b/state.db", user=False)
    assert (other.spool, other.socket) == (None, Path("/b/krond.sock"))
    with pytest.raises(InvalidInput, match="no tables of users"):
        other.of_user("alice")


def test_place_of_a_user_has_only_the_jobs_of_that_user():
    place = Place(Path("/c"), Path("/s"), spool=Path("/spool"))
    alice = place.of_user("alice")
    assert (place.prefixes, alice.prefixes) == (("/c/", "/spool/"), ("/spool/alice:",))
    assert (place.short("/spool/alice:tick"), alice.short("/spool/alice:tick")) == ("/spool/alice:tick", "alice:tick")
    assert place.long(place.short("/c/table:tick")) == "/c/table:tick"
