"""Webhooks say why an attempt failed: the status, the beginning of the body, or the network error; never a secret."""

import asyncio
import json
import socket
import ssl
import threading
from contextlib import suppress

import pytest

from kron.launchers.address import networks
from kron.launchers.http import HttpLauncher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets
from kron.launchers.target import read_url
from kron.launchers.workflow import HttpExecutor, RunLauncher, WorkflowLauncher
from kron.rules.excerpt import excerpt_of
from kron.rules.launch_result import LaunchResult, Report
from tests.launchers.making import a_launch
from tests.service.certificates import Authority
from tests.service.http import LOOPBACK, SECRET, receiving

TOKEN = "kr~1~~feedbeef"


def send(url, *, allowed=LOOPBACK, seconds=3.0, secret=SECRET, **poster):
    async def sending():
        sender = Poster(allowed=networks(allowed), **poster)
        capability = lambda launch: {"url": "http://kron/report", "token": TOKEN}  # noqa: E731
        launcher = HttpLauncher(Secrets(secret), sender, plain=True, seconds=seconds, capability=capability)
        try:
            return await launcher.start(a_launch(url))
        finally:
            sender.close()
            await asyncio.sleep(0)

    return asyncio.run(sending())


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def unresolved(host, payer):
    raise OSError(f"{host} has no address")


@pytest.mark.parametrize(("status", "result"), [(503, LaunchResult.RETRYABLE), (404, LaunchResult.REJECTED)])
def test_status_and_body_of_a_refusal_are_answered(status, result):
    with receiving(lambda n: (status, {}, b"upstream\r\n down\x00")) as receiver:
        answer = send(receiver.url)
    assert (answer.result, answer.code, answer.excerpt) == (result, status, "upstream down")


def test_body_of_an_accepted_run_is_not_kept():
    with receiving(lambda n: (202, {}, b"thank you")) as receiver:
        answer = send(receiver.url)
    assert (answer.result, answer.code, answer.excerpt) == (LaunchResult.OK, 202, "")


def test_body_that_reports_a_failure_is_kept():
    with receiving(lambda n: (200, {}, b'{"run": "failed", "error": "disk full"}')) as receiver:
        answer = send(receiver.url)
    assert (answer.result, answer.report) == (LaunchResult.OK, Report.FAILED)
    assert answer.excerpt == '{"run": "failed", "error": "disk full"}'


def test_refusal_that_names_a_report_does_not_report():
    with receiving(lambda n: (503, {}, b'{"run": "success"}')) as receiver:
        assert send(receiver.url).report is None


def test_body_that_repeats_the_request_gives_no_secret_away():
    """Its size is bounded; signature and token are removed before it is cut."""
    seen = []

    def echo(n):
        _, headers, body = receiver.seen[-1]
        seen.append(headers["webhook-signature"])
        return 400, {}, f"{headers['webhook-signature']} {json.loads(body)['data']['report']['token']} {body}".encode()

    with receiving(echo) as receiver:
        answer = send(f"{receiver.url}?key=hidden")
    assert len(answer.excerpt) <= 200
    assert answer.excerpt.startswith("… … ")
    for secret in (*seen, TOKEN, "hidden"):
        assert secret not in answer.excerpt


def test_large_body_is_cut():
    with receiving(lambda n: (500, {}, b"x" * 60_000)) as receiver:
        answer = send(receiver.url)
    assert len(excerpt_of(answer.excerpt)) <= 200


@pytest.mark.parametrize(
    ("url", "more", "result", "reason"),
    [
        ("http://127.0.0.1:{port}/x?k=1", {}, LaunchResult.RETRYABLE, "connection refused"),
        ("http://nowhere.example/", {"resolve": unresolved}, LaunchResult.RETRYABLE, "nowhere.example has no address"),
        (
            "http://127.0.0.1:{port}/",
            {"allowed": []},
            LaunchResult.REJECTED,
            "the target resolves to an address that must not be called",
        ),
        ("http://127.0.0.1:{port}/", {"secret": ""}, LaunchResult.REJECTED, "no webhook secret is configured"),
    ],
)
def test_request_that_is_not_sent_says_why(url, more, result, reason):
    answer = send(url.format(port=unused_port()), **more)
    assert (answer.result, answer.code, answer.excerpt) == (result, None, reason)


def test_connection_without_a_response_is_named():
    """The receiver reads the request and hangs up; or it does not answer in time."""

    async def served(answer):
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            await answer()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            closed.set()

        closed, server = asyncio.Event(), await asyncio.start_server(serve, "127.0.0.1", 0)
        poster = Poster(allowed=networks(LOOPBACK))
        launcher = HttpLauncher(Secrets(SECRET), poster, plain=True, seconds=0.5)
        port = server.sockets[0].getsockname()[1]
        try:
            return await launcher.start(a_launch(f"http://127.0.0.1:{port}/"))
        finally:
            await closed.wait()
            server.close()
            poster.close()

    hung_up, late = (asyncio.run(served(lambda s=s: asyncio.sleep(s))) for s in (0, 1))
    assert (hung_up.result, hung_up.excerpt) == (LaunchResult.UNKNOWN, "connection closed without a response")
    assert (late.result, late.excerpt) == (LaunchResult.UNKNOWN, "timed out")


def test_certificate_that_is_not_trusted_is_named(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).issue("localhost"))
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            context.wrap_socket(connection, server_side=True)

    threading.Thread(target=serve, daemon=True).start()

    async def resolve(host, payer):
        return ["127.0.0.1"]

    answer = send(f"https://localhost:{listener.getsockname()[1]}/", resolve=resolve)
    listener.close()
    assert answer.result is LaunchResult.RETRYABLE
    assert answer.excerpt.startswith("TLS certificate rejected: ")


def test_workflow_says_why_it_did_not_start():
    class Workflows:
        dag = None

        async def load_dag(self, workflow_id, version):
            return self.dag

    async def scene(url):
        poster, workflows, launch = (
            Poster(allowed=networks(LOOPBACK)),
            Workflows(),
            a_launch("workflow:w?version=3&user=u"),
        )
        starter = RunLauncher(workflows, HttpExecutor(read_url(url, plain=True), poster, Secrets(SECRET)))
        missing = await WorkflowLauncher(starter, Secrets(SECRET)).start(launch)
        workflows.dag = {}
        refused = await WorkflowLauncher(starter, Secrets(SECRET)).start(launch)
        poster.close()
        await asyncio.sleep(0)
        return missing, refused, await WorkflowLauncher(None, Secrets(SECRET)).start(launch)

    with receiving(lambda n: (500, {}, b"no room")) as receiver:
        missing, refused, absent = asyncio.run(scene(receiver.url))
    assert missing.excerpt == "workflow 'w' has no version 3"
    assert (refused.code, refused.excerpt) == (500, "no room")
    assert absent.excerpt == "this service has no executor"
