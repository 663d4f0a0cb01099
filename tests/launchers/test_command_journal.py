"""The journal of commands: on the disk before a command begins, and written for many at once."""

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from kron.launchers.command.journal import Entry, Journal, Limits
from kron.launchers.command.note_writer import MAX_BATCH, NoteWriter


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


def statements_of(journal):
    """The statements that the writer executes from now on."""
    statements = []
    journal.look("nothing")  # opens the connection
    journal.notes.connection.set_trace_callback(statements.append)
    return statements


def test_beginning_is_on_the_disk_when_it_returns_and_what_follows_need_not_be(journal):
    """After a power failure no process runs, so that only the beginnings count."""
    journal.begin("z", 1)
    statements = statements_of(journal)
    journal.begin("a", 1)
    assert statements[0] == "PRAGMA synchronous = FULL"
    assert statements[-1] == "COMMIT"
    for write in (lambda: journal.started("a", 1), lambda: journal.asked("a", 1), lambda: journal.ended("a", 0)):
        statements.clear()
        write()
        assert statements[0] == "PRAGMA synchronous = NORMAL"
    journal.begin("b", 1)
    statements.clear()
    assert journal.begin_again("b", 2, journal.look("b"))
    assert "PRAGMA synchronous = FULL" in statements


def test_all_who_wait_are_written_in_one_transaction(journal):
    journal.begin("first", 1)
    statements, hold = statements_of(journal), threading.Event()
    journal.notes.thread.submit(hold.wait)  # the disk is busy
    with ThreadPoolExecutor(40) as threads:
        results = [threads.submit(journal.begin, f"key {n % 30}", 1) for n in range(40)]
        while len(journal.notes.notes) < 40:
            assert not any(result.done() for result in results)
        hold.set()
        assert sum(result.result() for result in results) == 30  # each key begins once
    assert statements.count("COMMIT") == 1


def test_batch_is_bounded(tmp_path):
    writer, statements, hold = NoteWriter(tmp_path / "file"), [], threading.Event()
    writer.execute("CREATE TABLE t (n)")
    writer.connection.set_trace_callback(statements.append)
    writer.thread.submit(hold.wait)
    with ThreadPoolExecutor(MAX_BATCH + 1) as threads:
        results = [threads.submit(writer.execute, "INSERT INTO t VALUES (?)", n) for n in range(MAX_BATCH + 1)]
        while len(writer.notes) < MAX_BATCH + 1:
            pass
        hold.set()
        assert all(result.result().changed == 1 for result in results)
    assert statements.count("COMMIT") == 2


def test_transaction_that_fails_is_undone_and_told_to_all_and_the_next_one_works(tmp_path):
    writer, hold = NoteWriter(tmp_path / "file"), threading.Event()
    writer.execute("CREATE TABLE t (n UNIQUE)")
    writer.thread.submit(hold.wait)
    with ThreadPoolExecutor(3) as threads:
        results = [threads.submit(writer.execute, "INSERT INTO t VALUES (?)", n) for n in (1, 2, 2)]
        while len(writer.notes) < 3:
            pass
        hold.set()
        for result in results:
            with pytest.raises(sqlite3.IntegrityError):
                result.result()
    assert writer.execute("SELECT * FROM t").rows == []
    assert writer.execute("INSERT INTO t VALUES (1)").changed == 1


def test_two_workers_write_one_journal(journal):
    other = Journal(journal.folder)
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda n: (journal, other)[n % 2].begin(f"key {n // 2}", 1), range(60)))
    assert sum(results) == 30
    assert other.id == journal.id


def test_journal_of_an_earlier_release_is_continued(tmp_path):
    (tmp_path / "journal").mkdir()
    with closing(sqlite3.connect(tmp_path / "journal" / "journal.db")) as connection:
        connection.executescript(
            """
            CREATE TABLE begun (
                key TEXT PRIMARY KEY, at INTEGER NOT NULL, boot TEXT, pid INTEGER, ticks INTEGER, status INTEGER
            ) WITHOUT ROWID;
            INSERT INTO begun VALUES ('a', 5, 'boot', 7, 9, 3), ('b', 6, 'boot', 8, 10, NULL);
            """
        )
    journal = Journal(tmp_path / "journal")
    assert journal.look("a") == Entry(5, "boot", 7, 9, 3)
    assert journal.unended() == ["b"]
    assert not journal.begin("a", 10)


def test_limits_of_a_command_are_kept_until_it_begins_again(journal):
    journal.begin("a", 1)
    journal.started("a", 1, Limits(5, 6), "folder/file")
    assert [journal.asked("a", at) for at in (7, 8)] == [True, False]  # the first request counts
    entry = journal.look("a")
    assert (entry.kill_at, entry.grace, entry.asked_at, entry.output) == (5, 6, 7, "folder/file")
    assert entry.has_timed_out and not entry._replace(kill_at=8).has_timed_out
    assert journal.begin_again("a", 2, entry)
    assert journal.look("a") == Entry(2)


def test_command_that_has_ended_is_not_asked_to(journal):
    journal.begin("a", 1)
    journal.ended("a", 0)
    assert not journal.asked("a", 5)


def test_old_entries_are_not_searched_for_with_each_command(journal):
    journal.begin("a", 1)
    statements = statements_of(journal)
    journal.begin("b", 2)
    assert not any(text.startswith("DELETE") for text in statements)
    journal.begin("c", 3_602)
    assert any(text.startswith("DELETE") for text in statements)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"0\n", 0),
        (b"255\n", 255),
        (b"256\n", None),
        (b"7", None),
        (b"1" * 5_000 + b"\n", None),
        (b"-1\n", None),
        ("٣\n".encode(), None),
        (b"7\n7\n", None),
    ],
    ids=["zero", "largest", "too large", "no newline", "too long", "negative", "other digits", "two lines"],
)
def test_status_is_that_of_a_process_whatever_the_command_wrote_into_the_file(journal, content, status):
    journal.begin("a", 1)
    file = journal.status_file("a")
    os.write(file, content)
    os.close(file)
    assert journal.status("a") == status
