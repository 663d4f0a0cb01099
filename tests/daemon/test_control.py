"""The control socket and clients that hang, send garbage, or leave: none of them harms the daemon or other clients."""

import json
import socket
import stat
import time
from contextlib import ExitStack, suppress

import pytest

from kron.apps.daemon import control
from kron.apps.host.wire import MAX_LINE_BYTES, Request, answer_lines, read_request
from kron.errors import InvalidInput, KronError
from tests.daemon.krond import NEVER, krontab, until


@pytest.fixture
def daemon(krond):
    krond.write("table", krond.job("tick", "true", NEVER))
    return krond.start()


STATUS = Request("status", ("-o=json",)).line()
REFUSED = {
    "garbage": (b"\xff\x00garbage\n", "BAD_FIELD"),
    "number": (b"7\n", "BAD_FIELD"),
    "deep": (b"[" * 60_000 + b"\n", "BAD_FIELD"),
    "10 MB": (b"x" * 10_000_000, "TOO_LARGE"),
    "no command": (b"{}\n", "BAD_FIELD"),
    "unknown field": (b'{"command": "status", "user": "root"}\n', "BAD_FIELD"),
    "unknown command": (b'{"command": "edit"}\n', "BAD_FIELD"),
    "help": (b'{"command": "status", "arguments": ["--help"]}\n', "USAGE"),
    "wrong option": (b'{"command": "status", "arguments": ["--nonsense"]}\n', "USAGE"),
    "another daemon": (b'{"command": "status", "arguments": ["--state", "/etc/passwd"]}\n', "BAD_FIELD"),
    "surrogate": (b'{"command": "why", "arguments": ["\\ud800"]}\n', "BAD_FIELD"),
    "too many runs": (b'{"command": "next", "arguments": ["-n", "10000"]}\n', "TOO_LARGE"),
    "large table": (b'{"command": "install", "arguments": ["x"], "bytes": 99999999}\n', "TOO_LARGE"),
    "no table": (b'{"command": "install", "arguments": ["/etc/passwd"]}\n', "BAD_FIELD"),
    "unknown job": (b'{"command": "why", "arguments": ["nothing"]}\n', "NOT_FOUND"),
}


def connect(daemon):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(str(daemon.state.parent / "krond.sock"))
    return client


def answer(client):
    """The last line of an answer; None if there is none."""
    with client, client.makefile("rb") as stream:
        lines = stream.readlines()
    assert all(len(each) <= MAX_LINE_BYTES for each in lines)
    return json.loads(lines[-1]) if lines else None


def ask(daemon, content):
    client = connect(daemon)
    with suppress(BrokenPipeError):  # the daemon does not read all of it
        client.sendall(content)
    return answer(client)


def test_request_is_answered_and_refused_with_code_reason_and_hint(daemon):
    """All in one daemon: what one client sends does not harm the next."""
    path = daemon.state.parent / "krond.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for kind, (content, code) in REFUSED.items():
        refused = ask(daemon, content)
        assert refused is not None, kind
        (error,) = refused["errors"]
        assert (refused["status"] > 0, error["code"]) == (True, code), (kind, refused)
        assert error["message"] and error["hint"] and f"error[{code}]" in refused["err"], (kind, error)
    done = ask(daemon, STATUS)
    assert (done["status"], done["errors"], json.loads(done["out"])["jobs"]) == (0, [], 1)
    assert daemon.process.poll() is None and not daemon.events("library_warning")


@pytest.mark.slow
def test_clients_that_hang_are_closed_after_a_while_and_harm_no_one(daemon):
    halves = [b"", b'{"command": ', b'{"command": "install", "arguments": ["x"], "bytes": 100}\nhalf']
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(daemon)) for _ in halves]
        for client, half in zip(clients, halves, strict=True):
            client.sendall(half)
        gone = connect(daemon)
        gone.sendall(STATUS)
        gone.close()
        began = time.monotonic()
        assert ask(daemon, STATUS)["status"] == 0
        assert time.monotonic() - began < 4, "the answer has waited for the clients that hang"
        assert [answer(client)["errors"][0]["code"] for client in clients] == ["SLOW_BODY"] * 3
    assert not (daemon.tables / "x").exists()


def test_one_user_has_a_bounded_number_of_clients(daemon):
    with ExitStack() as stack:
        for _ in range(control.MAX_CLIENTS_OF_USER):
            stack.enter_context(connect(daemon))
        until(lambda: ask(daemon, STATUS)["errors"][:1] and ask(daemon, STATUS)["errors"][0]["code"] == "QUOTA")
    until(lambda: ask(daemon, STATUS)["status"] == 0)


def test_table_is_in_force_when_the_answer_comes(daemon):
    text = b"0 0 1 1 * name=new command=true\n" + b"# comment\n" * 10_000
    head = Request("install", ("--name=new", "--", "-"), len(text)).line()
    assert ask(daemon, head + text)["err"] == "table new installed: 1 job\n"
    assert daemon.identity("new", "new") in daemon.names()
    shown = krontab(daemon, "list", "new", "--socket", str(daemon.state.parent / "krond.sock"))
    assert shown.stdout.encode() == text
    assert ask(daemon, Request("remove", ("new",)).line())["err"] == "table new removed\n"
    assert daemon.names() == [daemon.identity("tick")]
    (daemon.tables / "late").write_text("0 0 1 1 * name=late command=true\n")
    (daemon.tables / "late").chmod(0o644)
    assert "2 tables, 2 jobs" in krontab(daemon, "reload").stderr


def test_socket_ends_with_its_daemon_and_a_second_daemon_keeps_it(daemon, make_krond, tmp_path):
    path = daemon.state.parent / "krond.sock"
    (tmp_path / "second").mkdir()
    second = make_krond("--socket", str(path), folder=tmp_path / "second").start()
    assert "another krond listens" in until(lambda: second.events("socket_failed"))[0]["message"]
    assert second.stop() == 0
    assert ask(daemon, STATUS)["status"] == 0
    daemon.kill()
    result = krontab(daemon, "status", "--socket", str(path))
    assert result.returncode == 1 and "error[UNREACHABLE]" in result.stderr
    daemon.start()
    assert ask(daemon, STATUS)["status"] == 0
    assert daemon.stop() == 0 and not path.exists()


def test_long_answer_has_several_bounded_lines():
    for text in ("x" * 10_0000, "\U0001f600" * 10_000, "\x1b" * 10_000):
        lines = list(answer_lines(1, text, "", [KronError("INTERNAL", text)] * 3))
        assert all(len(line) <= MAX_LINE_BYTES and line.endswith(b"\n") for line in lines)
        fields = [json.loads(line) for line in lines]
        assert "".join(each.get("out", "") for each in fields) == text
        assert [each.get("status") for each in fields] == [None] * (len(fields) - 1) + [1]


@pytest.mark.parametrize("size", ["1", -1, True, 1.5])
def test_size_of_a_table_is_a_number(size):
    with pytest.raises(InvalidInput, match="bytes is not a number"):
        read_request(json.dumps({"command": "install", "bytes": size}).encode())
