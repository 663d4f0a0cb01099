"""The client repeats what can be repeated: behind a proxy that refuses, loses responses, or asks to wait."""

import re
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from kron.client import Client
from kron.errors import QuotaExceeded, RevisionConflict, Unavailable
from tests.service.http import serving

DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": "http://127.0.0.1:9/hook"}
PROBLEM = b'{"code": "QUOTA", "detail": "too many requests"}'
BUSY = b"HTTP/1.1 %b\r\nContent-Length: %d\r\nRetry-After: 1\r\n\r\n%b"


class Proxy:
    """Proxy to the service. For each connection it takes the next fault: `lose` the response, or `busy`."""

    def __init__(self, port):
        self.port, self.faults, self.requests = port, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                self.answer(client, self.faults.pop(0) if self.faults else "")

    def answer(self, client, fault):
        request = client.recv(65_536)
        while not is_complete(request):
            request += client.recv(65_536)
        self.requests.append(request)
        if fault.startswith("busy"):
            client.sendall(BUSY % (fault.removeprefix("busy ").encode(), len(PROBLEM), PROBLEM))
            return
        with socket.create_connection(("127.0.0.1", self.port)) as service:
            service.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            response = b""
            while chunk := service.recv(65_536):
                response += chunk
        if fault != "lose":
            client.sendall(response)


def is_complete(request):
    head, end, body = request.partition(b"\r\n\r\n")
    size = re.search(rb"Content-Length: (\d+)", head)
    return bool(end) and len(body) == (int(size[1]) if size else 0)


@pytest.fixture(scope="module")
def service():
    with serving() as service:
        yield service


@pytest.fixture
def proxy(service):
    proxy = Proxy(service.port)
    yield proxy
    proxy.listener.close()


@contextmanager
def takes(least, most):
    began = time.monotonic()
    yield
    assert least <= time.monotonic() - began < most


def test_lost_response_of_a_trigger_is_repeated_with_the_same_key(proxy):
    client = Client(proxy.url)
    client.apply("once", DEFINITION)
    proxy.faults = ["lose", "lose"]
    run = client.trigger("once")
    assert [each["key"] for each in client.runs("once")] == [run["key"]]
    keys = {line for request in proxy.requests for line in request.splitlines() if line.startswith(b"Idempotency-Key")}
    assert len(keys) == 1


def test_lost_responses_of_reads_and_definitions_are_repeated(proxy):
    client = Client(proxy.url)
    proxy.faults = ["lose"]
    assert client.apply("defined", DEFINITION)["revision"] == 1
    proxy.faults = ["lose", "lose", "lose"]
    assert client.get("defined")["revision"] == 1


def test_lost_response_of_a_bulk_definition_and_of_a_preview_is_repeated(proxy):
    client = Client(proxy.url)
    proxy.faults = ["lose"]
    assert [answer["revision"] for answer in client.bulk([{"id": "many", **DEFINITION}])] == [1]
    proxy.faults = ["lose"]
    assert len(client.preview("many", DEFINITION, n=3)["runs"]) == 3


def test_lost_response_of_a_conditional_write_is_not_repeated(proxy):
    """The repeated write would be refused, although the first one succeeded."""
    client = Client(proxy.url)
    proxy.faults = ["lose"]
    with pytest.raises(Unavailable, match="UNREACHABLE"):
        client.apply("new", DEFINITION, revision=0)
    assert len(proxy.requests) == 1
    with pytest.raises(RevisionConflict):
        client.apply("new", {**DEFINITION, "schedule": "1 1 * * *"}, revision=0)


def test_client_waits_for_as_long_as_the_service_asks(proxy):
    client = Client(proxy.url)
    proxy.faults = ["busy 429 Too Many Requests"]
    with takes(0.9, 5):
        client.pause(client.apply("waits", DEFINITION)["id"])
    proxy.faults = ["busy 503 Service Unavailable"]
    with takes(0.9, 5):
        assert client.get("waits")["paused"]


def test_number_of_repeats_is_bounded(proxy):
    client = Client(proxy.url, retries=2)
    proxy.faults = ["lose"] * 9
    with pytest.raises(Unavailable, match="UNREACHABLE"):
        client.get("x")
    assert len(proxy.requests) == 3
    proxy.faults = ["busy 429 Too Many Requests"] * 9
    with pytest.raises(QuotaExceeded):
        Client(proxy.url, retries=0).get("x")


def test_service_that_comes_back_is_reached(service):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    client, proxies = Client(f"http://127.0.0.1:{port}", timeout=5), []

    def come_back():
        proxy = Proxy.__new__(Proxy)
        proxy.port, proxy.faults, proxy.requests = service.port, [], []
        proxy.listener = socket.create_server(("127.0.0.1", port))
        proxies.append(proxy)
        proxy.serve()

    timer = threading.Timer(0.15, come_back)
    timer.daemon = True
    timer.start()
    assert client.pause(client.apply("back", DEFINITION)["id"])["paused"]  # the first attempts were refused
    proxies[0].listener.close()
