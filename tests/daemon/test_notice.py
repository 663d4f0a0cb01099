"""Notice: the kernel tells of changes in a folder; where it does not, the regular scan finds them."""

import select

import pytest

from kron.apps.daemon import notice as module
from kron.apps.daemon import reloader
from kron.apps.daemon.notice import Notice
from tests.daemon.krond import NEVER, until


@pytest.fixture
def notice(tmp_path):
    made = Notice(str(tmp_path))
    yield made
    made.close()


def noticed(notice):
    """Whether there is a notice within a second."""
    readable, _, _ = select.select([notice.descriptor], [], [], 1)
    return bool(readable) and notice.drain()


def test_write_rename_chmod_and_removal_are_noticed(notice, tmp_path):
    path = tmp_path / "table"
    path.write_text("x")
    assert noticed(notice)
    path.chmod(0o600)
    assert noticed(notice)
    path.rename(tmp_path / "other")
    assert noticed(notice)
    (tmp_path / "other").unlink()
    assert noticed(notice)
    assert not notice.drain()


def test_reading_is_not_a_change(notice, tmp_path):
    (tmp_path / "table").write_text("x")
    assert noticed(notice)
    (tmp_path / "table").read_text()
    list(tmp_path.iterdir())
    assert not notice.drain()


def test_lost_events_are_a_change():
    assert [bool(mask & (module.WATCHED | module.OVERFLOW)) for mask in (0x4000, 0x8000)] == [True, False]


def test_many_events_are_read_to_the_end(notice, tmp_path):
    for number in range(2_000):
        (tmp_path / f"a-rather-long-name-of-a-table-{number:060d}").touch()
    assert notice.drain()
    assert not notice.drain()


def test_folder_in_the_place_of_another_is_watched(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    notice = Notice(str(folder))
    folder.rename(tmp_path / "old")
    assert noticed(notice)
    folder.mkdir()
    notice.watch()
    notice.drain()
    (tmp_path / "old" / "table").touch()
    assert not notice.drain()
    (folder / "table").touch()
    assert noticed(notice)
    notice.close()


def test_without_inotify_there_is_no_descriptor(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_library", lambda: object())
    notice = Notice(str(tmp_path))
    notice.watch()
    assert (notice.descriptor, notice.drain()) == (None, False)
    notice.close()


WITHOUT_INOTIFY = """
import sys
from kron.apps.daemon import main, notice, reloader
notice._library = lambda: object()
reloader.SCAN_SECONDS = 0.5
sys.exit(main.main(sys.argv[1:]))
"""


def test_without_inotify_the_scan_finds_changes(krond):
    import sys

    command = krond.command
    krond.command = lambda *more: [sys.executable, "-c", WITHOUT_INOTIFY, *command(*more)[1:]]
    krond.write("table", krond.job("a", "true", NEVER))
    krond.start()
    krond.write("table", krond.job("b", "true", NEVER))
    until(lambda: krond.names() == [krond.identity("b")])
    assert reloader.SCAN_SECONDS == 60
