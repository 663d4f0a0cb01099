"""Notifications of a real daemon: real programs get the messages, once, as the right user, and never delay a run."""

import json
import os
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.daemon.krond import EVERY_SECOND, soon, until
from tests.postgres import free_port

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
pytestmark = pytest.mark.slow


@pytest.fixture
def program(tmp_path):
    """A program that adds what it reads, its arguments and its user to a file, and then does what it is told."""

    def make(name="program", then="true"):
        path = tmp_path / name
        path.write_text(
            f'#!/bin/sh\n{{ cat; echo "args=$*"; echo "user=$(id -un)"; echo; }} >> {tmp_path}/{name}.got\n{then}\n'
        )
        path.chmod(0o755)
        return path

    return make


def messages(tmp_path, name="program"):
    path = tmp_path / f"{name}.got"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


def test_failure_is_told_once_and_repeats_are_counted(krond, program, tmp_path):
    path = program()
    line = krond.job("bad", f"echo x >> {tmp_path}/runs; echo broken; exit 3", more=f"notify=failure:exec:{path}")
    krond.write("table", line)
    krond.start()
    until(lambda: (tmp_path / "runs").exists() and (tmp_path / "runs").read_text().count("x") >= 3)
    krond.kill()
    krond.start()
    until(lambda: len(krond.events("run_finished")) >= 6)
    (message,) = messages(tmp_path)
    assert (message["events"], message["job"], message["state"]) == (["failure"], "table:bad", "failed")
    assert (message["exit_status"], message["output"]) == (3, "broken\n")
    assert krond.events("notification_sent")[0]["events"] == "failure"


def test_recovery_is_told_after_a_failure_that_was_not(krond, program, tmp_path):
    path = program()
    command = f"test -e {tmp_path}/ok"
    krond.write("table", krond.job("job", command, more=f"notify=recovery:exec:{path}"))
    krond.start()
    until(lambda: krond.events("run_finished"))
    (tmp_path / "ok").touch()
    (message,) = until(lambda: messages(tmp_path))
    assert (message["events"], message["state"]) == (["recovery"], "success")


def test_failure_of_a_daemon_that_was_killed_is_told_by_the_next_one(krond, program, tmp_path):
    path = program()
    command = f"echo x >> {tmp_path}/out; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done; exit 1"
    krond.write("table", krond.job("job", command, soon(), more=f"notify=failure:exec:{path}"))
    krond.start()
    until(lambda: krond.events("launch_completed"))
    krond.kill()
    (tmp_path / "end").touch()
    krond.start()
    assert until(lambda: messages(tmp_path))[0]["exit_status"] == 1
    assert krond.stop() == 0
    with closing(sqlite3.connect(krond.state.parent / "notified.db")) as notes, notes:  # killed before it was noted
        notes.execute("DELETE FROM noted")
        notes.execute("DELETE FROM series")
    krond.start()
    assert until(lambda: messages(tmp_path)[1:])[0]["key"] == messages(tmp_path)[0]["key"]


def test_periods_that_were_missed_while_the_daemon_was_down_are_told(krond, program, tmp_path):
    path = program()
    krond.write("table", krond.job("job", "true", "plus: * * * * * *", more=f"notify=missed:exec:{path}"))
    krond.start()
    until(lambda: krond.events("run_finished"))
    krond.kill()
    time.sleep(4)
    krond.start()
    message = until(lambda: messages(tmp_path))[0]
    assert (message["events"], message["reason"]) == (["missed"], "deadline")


def test_output_is_mailed_and_names_add_no_header(make_krond, program, tmp_path):
    sendmail = program("sendmail")
    krond = make_krond("--sendmail", str(sendmail))
    (tmp_path / "text").write_text("café\n.\nFrom me\n", encoding="utf-8")
    line = krond.job("job", f"cat {tmp_path}/text", soon(), more="mailto=ops@example.com,root")
    krond.write("table", line)
    krond.start()
    got = until(lambda: krond.events("notification_sent")) and (tmp_path / "sendmail.got").read_bytes()
    mail = message_from_bytes(got, policy=policy.default)
    assert "args=-i ops@example.com root" in got.decode()
    assert (mail["To"], mail["Auto-Submitted"]) == ("ops@example.com, root", "auto-generated")
    assert mail["Subject"] == f"krond on {os.uname().nodename}: table:job has output"
    assert "café\n.\nFrom me\n" in mail.get_content()


def test_program_that_hangs_or_is_missing_delays_no_run(krond, program, tmp_path):
    path = program(then=f"echo $$ >> {tmp_path}/pids; exec sleep 1000")
    targets = f"notify=output:exec:{path} notify=output:exec:/no/such/program"
    krond.write("table", krond.job("job", "echo hello", more=targets))
    krond.start()
    until(lambda: len(krond.events("run_finished")) >= 10)
    late = [event for event in krond.events("run_finished") if event["state"] != "success"]
    assert late == []
    failed = krond.events("notification_failed")
    assert "/no/such/program cannot be started" in failed[0]["error"]
    assert krond.stop() == 0
    for pid in (tmp_path / "pids").read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@root_only
def test_program_has_the_user_of_the_job(krond, program, tmp_path):
    path = program()
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    got = tmp_path / "program.got"
    got.touch()
    got.chmod(0o666)
    krond.write("table", krond.job("job", "echo x", EVERY_SECOND, more=f"user=nobody notify=output:exec:{path}"))
    command = krond.command()
    command.remove("--user")
    krond.command = lambda *more: [*command, *more]
    krond.start()
    until(lambda: "user=" in got.read_text())
    assert "user=nobody\n" in got.read_text()


@pytest.fixture
def receiver():
    """A server that keeps what is posted, and answers with the status that the path names."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(int(self.path.rpartition("/")[2]))
            self.send_header("Location", "/hook/200")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", got
        server.shutdown()


def test_failure_is_posted_to_a_url_whose_path_no_log_shows(krond, receiver):
    url, got = receiver
    krond.write("table", krond.job("bad", "echo broken; exit 3", more=f"notify=failure:post:{url}/secret/200"))
    krond.start()
    until(lambda: krond.events("notification_sent"))
    ((path, kind, body),) = got
    message = json.loads(body)
    assert (path, kind) == ("/hook/secret/200", "application/json")
    assert (message["events"], message["exit_status"], message["output"]) == (["failure"], 3, "broken\n")
    assert "secret" not in krond.log.read_text()


@pytest.mark.parametrize("status", [302, 404, 500])
def test_url_that_answers_otherwise_is_told_with_its_status(krond, receiver, status):
    url, got = receiver
    krond.write("table", krond.job("bad", "exit 3", more=f"notify=failure:post:{url}/{status}"))
    krond.start()
    until(lambda: krond.events("notification_failed"))
    assert krond.events("notification_failed")[0]["error"] == f"the receiver answered {status}"
    assert len(got) == 1


def test_url_that_nobody_answers_is_told(krond):
    krond.write("table", krond.job("bad", "exit 3", more=f"notify=failure:post:http://127.0.0.1:{free_port()}/x"))
    krond.start()
    until(lambda: krond.events("notification_failed"))
    assert "cannot be reached" in krond.events("notification_failed")[0]["error"]
