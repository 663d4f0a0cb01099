"""Where the outputs of commands go: the worker's own, nowhere, files of the user, syslog and the systemd journal.

This machine has neither syslog nor journald. Their sockets are made here; logger is the real one.
"""

import asyncio
import os
import pwd
import socket
import stat
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kron.language import parse
from kron.launchers.command import log_stream, output_file
from kron.launchers.command.file_rights import with_file_rights
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.output_file import RefusedOutput, open_output
from kron.launchers.command.rights import rights_of
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch, result_of

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
BOTH = "echo out; echo err >&2; exit 1"
USERS = [None, pytest.param("nobody", marks=AS_ROOT)]


@pytest.fixture
def folder():
    """A folder with a short path that everyone may write to: the path of a socket has at most 107 bytes."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def children():
    pids = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            pids |= set(map(int, path.read_text().split()))
    return pids


def run(folder, command, **fields):
    """The answer to a launch, and the last report. When this returns, no process of the launcher is left."""
    ear, before = Ear(), children()
    launch = a_launch(command=command)
    launch = replace(launch, job=replace(launch.job, **fields))

    async def script():
        launcher = CommandLauncher(Journal(folder / "journal"), ear)
        answer = await launcher.start(launch)
        async with asyncio.timeout(30):
            while launcher.tasks or launcher.loggers.tasks:
                await asyncio.sleep(0.01)
        return answer

    answer = asyncio.run(script())
    assert children() <= before
    return answer, ear.ends[-1] if ear.ends else None


def end_of(folder, command, **fields):
    answer, end = run(folder, command, **fields)
    assert result_of(answer) is LaunchResult.OK
    return end


def refusal_of(folder, command):
    """Why an output is refused: by the worker for its own user, and by the keeper for another one."""
    answer, end = run(folder, command)
    if command.user is None:
        assert (answer.result, end) == (LaunchResult.REJECTED, None)
        return answer.excerpt
    report, code, excerpt = end
    assert (result_of(answer), report, code) == (LaunchResult.OK, Report.FAILED, 126)
    return excerpt


def kept(folder):
    return [path.read_text() for path in (folder / "journal" / "output").glob("*/*/*.out")]


# Captured, discarded, inherited


@pytest.mark.parametrize("user", USERS)
def test_captured_output_is_the_default_and_has_a_word(folder, user):
    assert end_of(folder, Command(BOTH, user=user, stdout="capture")) == (Report.FAILED, 1, "out err")
    assert kept(folder) == ["out\nerr\n"]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("word", ["discard", "/dev/null"])
def test_discarded_output_is_nowhere(folder, user, word):
    assert end_of(folder, Command(BOTH, user=user, stdout=word)) == (Report.FAILED, 1, "err")
    assert end_of(folder / "both", Command(BOTH, user=user, stdout=word, stderr=word)) == (Report.FAILED, 1, "")
    assert (kept(folder), kept(folder / "both")) == (["err\n"], [])


WORKER = """
import asyncio, sys
from kron.launchers.command import log_stream
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch

async def main(folder, line, form, user, log_socket):
    log_stream.SYSLOG_SOCKET = log_socket
    launcher = CommandLauncher(Journal(folder), Ear())
    await launcher.start(a_launch(command=Command(line, user=user or None, stdout=form, stderr=form)))
    print("started", flush=True)
    while launcher.tasks:
        await asyncio.sleep(0.01)

asyncio.run(main(*sys.argv[1:]))
"""


def worker(folder, line, form, user=None, log_socket="/dev/log"):
    arguments = [sys.executable, "-c", WORKER, str(folder / "journal"), line, form, user or "", str(log_socket)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("user", USERS)
def test_inherited_output_is_that_of_the_worker(folder, user):
    out, err = worker(folder, BOTH, "inherit", user).communicate(timeout=30)
    assert (sorted(out.split()), err) == (["out", "started"], "err\n")
    assert kept(folder) == []
    assert worker(folder / "discard", BOTH, "discard", user).communicate(timeout=30) == ("started\n", "")


# Files


@pytest.mark.parametrize("user", USERS)
def test_file_has_the_time_of_the_period_in_the_zone_of_the_schedule(folder, user):
    schedule = parse("0 11 * * *", dialect="kron", timezone="Europe/Paris")
    command = Command(BOTH, user=user, stdout=f"file:{folder}/%F-%H%M.log", stderr=f"file:{folder}/%F-%H%M.log")
    assert end_of(folder, command, schedule=schedule) == (Report.FAILED, 1, "")
    assert (folder / "2026-03-01-1100.log").read_text() == "out\nerr\n"


@pytest.mark.parametrize("user", USERS)
def test_file_is_appended_to_and_has_the_mask_of_the_command(folder, user):
    for n in range(2):
        end_of(folder / str(n), Command("echo x", user=user, umask=0o27, stdout=f"file:{folder}/log"))
    file = folder / "log"
    assert file.read_text() == "x\nx\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.stat().st_uid == (os.getuid() if user is None else pwd.getpwnam(user).pw_uid)


def a_fifo(path):
    os.mkfifo(path, 0o666)


def a_socket(path):
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))


@pytest.mark.privileges
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("prefix", ["file:", ""])
@pytest.mark.parametrize(("kind", "make"), [("FIFO", a_fifo), ("socket", a_socket), ("directory", Path.mkdir)])
def test_what_is_not_a_file_is_refused_with_the_reason(folder, user, prefix, kind, make):
    make(folder / "x")
    reason = refusal_of(folder, Command("echo x", user=user, stdout=f"{prefix}{folder}/x"))
    assert f"{folder}/x is a {kind}: write the path of a regular file" in reason


@pytest.mark.privileges
@pytest.mark.parametrize("user", USERS)
def test_fifo_with_a_reader_is_refused_too(folder, user):
    a_fifo(folder / "x")
    reader = os.open(folder / "x", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert "is a FIFO" in refusal_of(folder, Command("echo x", user=user, stdout=f"file:{folder}/x"))
    finally:
        os.close(reader)


def a_link(path):
    (path.parent / "target").touch()
    path.symlink_to(path.parent / "target")


@pytest.mark.privileges
@pytest.mark.parametrize("make", [a_fifo, a_link])
def test_file_that_is_replaced_after_the_check_is_refused(folder, monkeypatch, make):
    """The open file is checked again, and no link is followed. The check sees the file that was there before."""
    before = Path(__file__).stat()
    make(folder / "x")
    monkeypatch.setattr(output_file.os, "lstat", lambda path: before)
    reader = os.open(folder / "x", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(RefusedOutput, match=f"{folder}/x is (a FIFO|not a regular file)"):
            open_output(f"{folder}/x", os.geteuid(), None, follows_own_links=False)
    finally:
        os.close(reader)


@pytest.mark.privileges
@pytest.mark.parametrize("user", USERS)
def test_device_is_refused(folder, user):
    assert "/dev/zero is a device" in refusal_of(folder, Command("echo x", user=user, stdout="file:/dev/zero"))


@pytest.mark.privileges
@pytest.mark.parametrize("user", USERS)
def test_file_form_follows_no_link(folder, user):
    """Not even to a file of the user. A plain path follows a link that only the user or root can have made."""
    own = folder / "own"
    own.mkdir(mode=0o755)
    if user:
        os.chown(own, pwd.getpwnam(user).pw_uid, -1)
        (own / "target").touch()
        os.chown(own / "target", pwd.getpwnam(user).pw_uid, -1)
    (own / "link").symlink_to(own / "target")
    reason = refusal_of(folder, Command("echo x", user=user, stdout=f"file:{own}/link"))
    assert "is a symbolic link" in reason
    assert end_of(folder / "plain", Command("echo x", user=user, stdout=f"{own}/link"))[0] is Report.SUCCESS
    assert (own / "target").read_text() == "x\n"


@pytest.mark.privileges
@AS_ROOT
def test_own_link_to_a_link_of_another_user_is_not_followed(folder):
    own, foreign, secret = folder / "own", folder / "foreign", folder / "secret"
    own.mkdir(mode=0o755)
    foreign.mkdir()
    secret.touch(mode=0o600)
    (foreign / "link").symlink_to(secret)
    os.chown(foreign / "link", 65534, 65534, follow_symlinks=False)
    os.chown(foreign, 65534, 65534)
    (own / "link").symlink_to(foreign / "link")
    assert "is a symbolic link" in refusal_of(folder, Command("echo x", stdout=f"{own}/link"))
    assert secret.read_text() == ""
    (own / "second").symlink_to("target")
    (own / "first").symlink_to("second")
    assert end_of(folder / "plain", Command("echo x", stdout=f"{own}/first"))[0] is Report.SUCCESS
    assert (own / "target").read_text() == "x\n"


@pytest.mark.privileges
@AS_ROOT
@pytest.mark.parametrize("form", ["file:{}", "{}"])
def test_file_that_only_root_can_write_is_not_opened_for_another_user(folder, form):
    treasure = folder / "treasure"
    treasure.write_text("mine")
    treasure.chmod(0o644)
    reason = refusal_of(folder, Command("echo his", user="nobody", stdout=form.format(treasure)))
    assert "Permission denied" in reason and str(treasure) in reason
    assert treasure.read_text() == "mine"


@pytest.mark.privileges
@AS_ROOT
def test_groups_of_the_worker_open_nothing_for_another_user(folder):
    """And those of the command do: the file belongs to a group that both could have."""
    shared = folder / "shared"
    shared.touch()
    os.chown(shared, 0, 1)  # daemon
    shared.chmod(0o660)
    own_groups = os.getgroups()
    os.setgroups([0, 1])
    try:
        reason = refusal_of(folder, Command("echo his", user="nobody", stdout=f"file:{shared}"))
        end = end_of(folder / "group", Command("echo ours", user="nobody", group="daemon", stdout=f"file:{shared}"))
        assert os.getgroups() == [0, 1]
    finally:
        os.setgroups(own_groups)
    assert "Permission denied" in reason
    assert end == (Report.SUCCESS, 0, "")
    assert shared.read_text() == "ours\n"


@pytest.mark.privileges
@AS_ROOT
def test_rights_of_another_user_stay_in_their_thread(folder):
    rights = rights_of("nobody", None)
    secret = folder / "secret"
    secret.touch(mode=0o600)
    facts = ("Uid:", "Gid:", "Groups:", "CapEff:")

    def own_rights():
        lines = Path("/proc/thread-self/status").read_text().splitlines()
        return [line for line in lines if line.startswith(facts)]

    before = own_rights()
    with pytest.raises(PermissionError):
        with_file_rights(rights, secret.read_bytes)
    assert with_file_rights(rights, own_rights) != before
    assert own_rights() == before
    assert secret.read_bytes() == b""


def test_stored_text_that_is_no_form_is_refused(folder):
    answer, _ = run(folder, Command("true", stdout="log.txt"))
    assert answer.result is LaunchResult.REJECTED
    assert answer.excerpt.startswith("ValueError: 'log.txt' is not an output: write capture, inherit")


@AS_ROOT
def test_folder_that_a_user_cannot_enter_is_told_where_the_worker_keeps_it(folder):
    """Also if nothing else is captured: the file of the user would be the last place to look."""
    inside = folder / "inside"
    inside.mkdir(mode=0o700)
    command = Command("true", user="nobody", cwd=str(inside), stdout="discard", stderr=f"file:{folder}/log")
    assert f"Permission denied: '{inside}/.'" in refusal_of(folder, command)


# Logs


@pytest.fixture
def syslog(folder, monkeypatch):
    """The socket of a syslog daemon."""
    path = folder / "log"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as server:
        server.bind(str(path))
        path.chmod(0o666)
        server.settimeout(10)
        monkeypatch.setattr(log_stream, "SYSLOG_SOCKET", str(path))
        yield server


def message(server):
    """Priority, name and text of the next message."""
    priority, _, rest = server.recv(9_000).decode().partition(">")
    name, _, text = rest[16:].partition(": ")
    return int(priority[1:]), name, text


@pytest.mark.parametrize("user", USERS)
def test_each_line_is_a_message_for_syslog(folder, syslog, user):
    line = "echo one; echo; printf 'two <3>%%s'; echo bad >&2; exit 1"
    command = Command(line, user=user, stdout="syslog", stderr="syslog")
    assert end_of(folder, command, name="team/backup") == (Report.FAILED, 1, "")
    syslog.settimeout(1)
    messages = []
    with pytest.raises(TimeoutError):
        while True:
            messages.append(message(syslog))
    info, warning = 9 * 8 + 6, 9 * 8 + 4  # of the facility cron
    assert sorted(text for text in messages if text[2]) == [
        (warning, "team/backup", "bad"),
        (info, "team/backup", "one"),
        (info, "team/backup", "two <3>%s"),
    ]


def test_command_goes_on_logging_after_its_worker_was_killed(folder, syslog):
    """logger is no child of the command and has a session of its own, so that it reads to the end."""
    go = folder / "go"
    line = f"echo before; while [ ! -e {go} ]; do sleep 0.05; done; echo after"
    process = worker(folder, line, "syslog", log_socket=folder / "log")
    assert process.stdout.readline() == "started\n"
    assert message(syslog)[2] == "before"
    process.kill()
    process.communicate()
    go.touch()
    assert message(syslog)[2] == "after"


def test_logger_is_in_no_session_of_worker_or_command(folder, syslog):
    """A signal to either of them, such as Ctrl-C in a terminal, does not end it before the last line."""

    async def script():
        launcher = CommandLauncher(Journal(folder / "journal"), Ear())
        await launcher.start(
            a_launch(command=Command(f"while [ ! -e {folder}/go ]; do sleep 0.05; done", stdout="syslog"))
        )
        (pid,) = launcher.loggers.children
        session = os.getsid(pid)
        (folder / "go").touch()
        async with asyncio.timeout(30):
            while launcher.tasks or launcher.loggers.children:
                await asyncio.sleep(0.01)
        return pid, session

    pid, session = asyncio.run(script())
    assert pid == session


@AS_ROOT
def test_logger_has_the_rights_of_the_user(folder, syslog):
    syslog.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    end_of(folder, Command("echo one", user="nobody", stdout="syslog"))
    _, [(_, _, credentials)], _, _ = syslog.recvmsg(9_000, socket.CMSG_SPACE(12))
    assert int.from_bytes(credentials[4:8], sys.byteorder) == pwd.getpwnam("nobody").pw_uid


@pytest.mark.parametrize("user", USERS)
def test_host_without_syslog_says_so(folder, monkeypatch, user):
    monkeypatch.setattr(log_stream, "SYSLOG_SOCKET", str(folder / "none"))
    reason = refusal_of(folder, Command("true", user=user, stdout="syslog"))
    assert f"stdout=syslog: {folder}/none is missing: write capture, journal or file:/path" in reason


def test_logger_without_the_options_is_not_used(tmp_path, monkeypatch):
    """That of BusyBox has no -u. A logger that ends at once would end the command with SIGPIPE."""
    program = tmp_path / "logger"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(log_stream, "_LOGGER_PATHS", (str(program),))
    assert log_stream.find_logger.__wrapped__("/dev/log") is None
    monkeypatch.setattr(log_stream, "_LOGGER_PATHS", ())
    assert log_stream.find_logger.__wrapped__("/dev/log") is None


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(("stream", "priority"), [("stdout", 6), ("stderr", 4)])
def test_journal_gets_the_lines_by_a_socket_of_its_own(folder, monkeypatch, user, stream, priority):
    monkeypatch.setattr(log_stream, "JOURNAL_SOCKET", str(folder / "stdout"))
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(folder / "stdout"))
        server.listen()
        end = end_of(folder, Command(BOTH, user=user, **{stream: "journal"}), name="backup")
        connection, _ = server.accept()
        with closing(connection), connection.makefile() as file:
            text = file.read()  # to the end: the worker has closed its own end
    assert text == f"backup\n\n{priority}\n0\n0\n0\n0\n{stream[3:]}\n"
    assert end == (Report.FAILED, 1, "out" if stream == "stderr" else "err")


@pytest.mark.parametrize("user", USERS)
def test_host_without_journald_says_so(folder, monkeypatch, user):
    monkeypatch.setattr(log_stream, "JOURNAL_SOCKET", str(folder / "none"))
    reason = refusal_of(folder, Command("true", user=user, stderr="journal"))
    assert f"stderr=journal: {folder}/none: No such file or directory: write capture, syslog or file:/path" in reason


@pytest.mark.parametrize(
    ("name", "identity", "tag"),
    [
        ("team/backup", "x", "team/backup"),
        ("", "/etc/krontab:back up\n", "/etc/krontab_back_up_"),
        ("", "n" * 99, "n" * 48),
        ("", "é", "_"),
    ],
)
def test_tag_has_no_text_that_a_log_could_misread(name, identity, tag):
    assert log_stream.tag_of(replace(a_launch().job, name=name, identity=identity)) == tag
