"""The folder of a Kubernetes ConfigMap: links inside the folder are followed if nobody else can change the way."""

import os
import subprocess

import pytest

from kron.apps.host.tables import TableFolder
from tests.daemon.krond import NEVER, until

ME = os.geteuid()
LINE = "0 3 * * * name={name} command=true"
root_only = pytest.mark.skipif(ME != 0, reason="needs root to give a file away or to mount")


def write_version(folder, version, *names):
    """Write a version of the map, and make it the current one, as the kubelet does."""
    place = folder / f"..{version}"
    place.mkdir()
    place.chmod(0o755)
    (place / "table").write_text("".join(LINE.format(name=name) + "\n" for name in names))
    (place / "table").chmod(0o644)
    (folder / "..data_tmp").symlink_to(place.name)
    (folder / "..data_tmp").rename(folder / "..data")
    if not (folder / "table").is_symlink():
        (folder / "table").symlink_to("..data/table")
    return place


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "tables"
    path.mkdir(mode=0o755)
    return path


def only_table(folder, owners=(ME,)):
    (found,) = TableFolder(folder, owners).scan().tables.values()
    return found


def names(found):
    return [job.name for job in found.jobs]


def test_links_are_followed_and_a_swap_is_a_change(folder):
    write_version(folder, "v1", "a")
    reader = TableFolder(folder, {ME})
    scan = reader.scan()
    (first,) = scan.tables.values()
    assert (names(first), first.path, scan.ignored) == (["a"], f"{folder}/table", ())
    assert next(iter(reader.scan().tables.values())) is first
    write_version(folder, "v2", "b")
    assert names(next(iter(reader.scan().tables.values()))) == ["b"]


def leave_by_an_absolute_link(folder, place):
    (folder / "..data").unlink()
    (folder / "..data").symlink_to(place)


def leave_by_the_parent(folder, place):
    (folder / "table").unlink()
    (folder / "table").symlink_to(f"../tables/{place.name}/table")


def turn_in_circles(folder, place):
    (folder / "..data").unlink()
    (folder / "..data").symlink_to("..data")


HOSTILE = {
    "absolute link": (leave_by_an_absolute_link, "leaves its folder"),
    "link to the parent": (leave_by_the_parent, "leaves its folder"),
    "circle": (turn_in_circles, "leaves its folder"),
    "folder that others can write": (lambda folder, place: place.chmod(0o777), "mode 0777"),
    "folder that its group can write": (lambda folder, place: place.chmod(0o775), "mode 0775"),
    "file that others can write": (lambda folder, place: (place / "table").chmod(0o666), "mode 0666"),
    "hard link": (lambda folder, place: os.link(place / "table", folder.parent / "other"), "has 2 hard links"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_way_that_others_can_change_is_refused(folder, kind):
    change, reason = HOSTILE[kind]
    change(folder, write_version(folder, "v1", "a"))
    found = only_table(folder)
    assert found.jobs == ()
    assert (found.problems[0].code, reason in found.problems[0].message) == ("UNSAFE_FILE", True), found.problems


@root_only
@pytest.mark.parametrize("step", ["table", "..data", "..v1", "..v1/table"])
def test_every_step_must_belong_to_an_owner(folder, step):
    write_version(folder, "v1", "a")
    os.chown(folder / step, 65534, 65534, follow_symlinks=False)
    found = only_table(folder)
    assert (found.jobs, "belongs to user 65534, not to user 0" in found.problems[0].message) == ((), True)


def test_link_to_a_device_or_folder_is_refused(folder):
    place = write_version(folder, "v1", "a")
    (folder / "table").unlink()
    (folder / "table").symlink_to(place.name)
    assert "is not a regular file" in only_table(folder).problems[0].message


@pytest.mark.slow
def test_daemon_notices_the_swap(krond):
    krond.write("other", krond.job("other", "true", NEVER))
    write_version(krond.tables, "v1", "a")
    krond.start()
    assert krond.names() == [krond.identity("other", "other"), krond.identity("a")]
    write_version(krond.tables, "v2", "b")
    until(lambda: krond.names() == [krond.identity("other", "other"), krond.identity("b")])
    assert krond.events("table_ignored") == []


@pytest.mark.slow
@root_only
def test_writable_mode_does_not_count_where_nothing_can_be_written(krond):
    """The kubelet gives the folder mode 0777, and mounts it read-only."""
    write_version(krond.tables, "v1", "a")
    krond.tables.chmod(0o777)
    refused = krond.run("--dry-run")
    assert (refused.returncode, "mode 0777" in refused.stderr) == (1, True)
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, str(krond.tables), *krond.command("--dry-run")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "1 table, 1 job, 0 tables refused" in done.stderr) == (0, True), done.stderr
