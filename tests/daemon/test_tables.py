"""Tables of a folder: what is read, what is refused, and why. The files are real, and so are the refusals."""

import os
import socket
import threading

import pytest

from kron.apps.host import tables
from kron.apps.host.account import Account, own_account
from kron.apps.host.tables import TableFolder
from kron.errors import InvalidInput, KronError, NotFound

GOOD = '0 3 * * * name=nightly command="true"\n'
ME = os.geteuid()
root_only = pytest.mark.skipif(ME != 0, reason="needs root to give a file away")


def table(folder, name="table", text=GOOD, mode=0o644):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def scan(folder, account=None):
    return TableFolder(folder, {ME}, account).scan()


def problem(folder, name="table", account=None):
    """The first reason why a table is not used."""
    found = scan(folder, account).tables[str(folder / name)]
    assert found.jobs == ()
    return found.problems[0]


def test_table_is_read_with_its_identities(folder):
    path = table(folder)
    (found,) = scan(folder).tables.values()
    (job,) = found.jobs
    assert (job.identity, job.target, job.command.line) == (f"{path}:nightly", "command:", "true")
    assert found.problems == ()


def test_one_bad_line_refuses_the_whole_table(folder):
    table(folder, text=GOOD + "99 3 * * * name=wrong command=true\n")
    table(folder, "other")
    found = problem(folder)
    assert found.place.label == f"{folder}/table:2:1"
    assert found.place.excerpt().endswith("\n  ^^")
    assert len(scan(folder).tables[str(folder / "other")].jobs) == 1


def make_symlink(folder):
    table(folder.parent, "elsewhere").rename(folder.parent / "elsewhere")
    (folder / "table").symlink_to(folder.parent / "elsewhere")


def make_dangling_symlink(folder):
    (folder / "table").symlink_to("/nowhere")


def make_hard_link(folder):
    os.link(table(folder.parent, "elsewhere"), folder / "table")


def make_fifo(folder):
    os.mkfifo(folder / "table", 0o644)


def make_socket(folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "table"))


def make_folder(folder):
    (folder / "table").mkdir()


HOSTILE = {
    "symlink": (make_symlink, "UNSAFE_FILE", "is a symbolic link"),
    "dangling symlink": (make_dangling_symlink, "UNSAFE_FILE", "is a symbolic link"),
    "hard link": (make_hard_link, "UNSAFE_FILE", "has 2 hard links"),
    "FIFO": (make_fifo, "UNSAFE_FILE", "is not a regular file"),
    "socket": (make_socket, "UNSAFE_FILE", "is not a regular file"),
    "folder": (make_folder, "UNSAFE_FILE", "is not a regular file"),
    "writable by others": (lambda f: table(f, mode=0o646), "UNSAFE_FILE", "has mode 0646"),
    "writable by its group": (lambda f: table(f, mode=0o664), "UNSAFE_FILE", "has mode 0664"),
    "too large": (lambda f: table(f, text="#" * (8 << 20) + "\n"), "TOO_LONG", "is larger than 8 MiB"),
    "line of 10 MB": (lambda f: table(f, text=GOOD + "x" * 10_000_000), "TOO_LONG", "is larger than 8 MiB"),
    "long line": (lambda f: table(f, text="0 3 * * * " + "x" * 70_000), "TOO_LONG", "has 70010 characters"),
    "too many lines": (lambda f: table(f, text="\n" * 100_000 + GOOD), "TOO_LONG", "more than 100000 lines"),
    "NUL": (lambda f: table(f, text=GOOD + "# a\0b\n"), "BAD_CHARACTER", "line 2 has a NUL character"),
    "not UTF-8": (lambda f: table(f, text=b"\xff\xfe" + GOOD.encode()), "BAD_CHARACTER", "byte 0 is not UTF-8"),
    "crontab": (lambda f: table(f, text="0 3 * * * root /usr/bin/true\n"), "FIELD_COUNT", "expected 5 fields, got 7"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_file_is_refused_with_its_reason(folder, kind):
    make, code, reason = HOSTILE[kind]
    make(folder)
    table(folder, "other")
    found = []
    reader = threading.Thread(target=lambda: found.append(problem(folder)), daemon=True)
    reader.start()
    reader.join(30)  # a FIFO must not stop the daemon
    assert found and found[0].code == code and reason in found[0].message, found
    assert len(scan(folder).tables[str(folder / "other")].jobs) == 1


@root_only
def test_device_is_refused(folder):
    os.mknod(folder / "table", 0o20644, os.makedev(1, 5))  # /dev/zero, which never ends
    assert "is not a regular file" in problem(folder).message


@pytest.mark.privileges
@root_only
def test_file_of_another_user_is_refused(folder):
    os.chown(table(folder), 65534, 65534)
    found = problem(folder)
    assert (found.code, found.message) == ("UNSAFE_FILE", f"{folder}/table belongs to user 65534, not to user {ME}")


@root_only
def test_folder_of_another_user_is_refused(folder):
    table(folder)
    os.chown(folder, 65534, 65534)
    with pytest.raises(InvalidInput, match="belongs to user 65534"):
        scan(folder)


def test_folder_that_others_can_write_is_refused(folder):
    table(folder)
    folder.chmod(0o777)
    with pytest.raises(InvalidInput, match="mode 0777"):
        scan(folder)


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(NotFound, match="No such file"):
        scan(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [".hidden", "table.bak", "table~", "table.dpkg-old", "#table#", "a b"])
def test_other_names_are_not_tables(folder, name):
    table(folder, name)
    table(folder)
    found = scan(folder)
    assert (list(found.tables), found.ignored) == ([f"{folder}/table"], (name,))


def test_too_many_files_are_refused_and_counted_to_the_limit(folder, monkeypatch):
    monkeypatch.setattr(tables, "MAX_NAMES", 20)
    for number in range(21):
        table(folder, f"t{number}")
    with pytest.raises(KronError, match="more than 20 files"):
        scan(folder)


def test_table_beyond_the_limit_on_jobs_is_refused(folder, monkeypatch):
    monkeypatch.setattr(tables, "MAX_JOBS", 2)
    two = GOOD + GOOD.replace("nightly", "other")
    for name, text in (("a", two), ("b", GOOD)):
        table(folder, name, text)
    found = scan(folder).tables
    assert [len(found[f"{folder}/{name}"].jobs) for name in "ab"] == [2, 0]
    assert "more than 2 jobs" in found[f"{folder}/b"].problems[0].message


def test_file_is_read_again_only_if_it_has_changed(folder):
    path, reader = table(folder), TableFolder(folder, {ME})
    first = reader.scan().tables[str(path)]
    assert reader.scan().tables[str(path)] is first
    path.chmod(0o666)
    assert reader.scan().tables[str(path)].problems
    path.chmod(0o644)
    assert reader.scan().tables[str(path)].jobs == first.jobs
    table(folder.parent, "new", GOOD.replace("nightly", "daily!")).replace(path)
    assert reader.scan().tables[str(path)].problems[0].code == "BAD_VALUE"
    path.unlink()
    assert reader.scan().tables == {}


@pytest.mark.privileges
@pytest.mark.parametrize("keys", ["user=root", "name=x user=root", "group=shadow", 'user="root"', "user=0"])
def test_users_table_cannot_name_another_user(folder, keys):
    names = "" if "name=" in keys else " name=nightly"
    table(folder, text=f"0 3 * * * @tz(UTC) {keys}{names} command=true\n")
    found = problem(folder, account=Account("alice", 4711, frozenset({"alice", "4711"})))
    assert (found.code, found.place.line) == ("FOREIGN_USER", 1)
    assert found.place.text[found.place.start :].startswith(("user=", "group="))


def test_users_table_can_name_the_user_itself(folder):
    me = own_account()
    table(folder, text=f"0 3 * * * name=nightly user={me.name} group={min(me.groups)} command=true\n")
    assert len(scan(folder, me).tables[f"{folder}/table"].jobs) == 1
    assert me.is_user(str(ME))


def test_hosts_table_can_name_any_user(folder):
    table(folder, text="0 3 * * * name=nightly user=nobody command=true\n")
    assert len(scan(folder).tables[f"{folder}/table"].jobs) == 1
