"""The transport to the API server: connections are reused, never leaked, and errors say whether a request was sent."""

import asyncio
import gc
import socket
import ssl
from contextlib import asynccontextmanager, suppress

import httpx2
import pytest

from kron.kube.network import Stream
from kron.kube.transport import DirectTransport, is_proxied
from tests.service.certificates import Authority

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n"
WHOLE = HEAD + b'{"a":1}'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PATIENCE_SECONDS = 60


class Peer:
    """A server that answers each request as its script says: bytes to send, and what then happens to the line."""

    def __init__(self, *script, then="keep", tls=None):
        self.script, self.then, self.tls = list(script), then, tls
        self.requests, self.connections, self.open = [], 0, set()
        self.released = asyncio.Event()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.released.set()
        for writer in list(self.open):
            writer.transport.abort()
        self.server.close()
        await self.server.wait_closed()

    async def serve(self, reader, writer):
        self.connections += 1
        self.open.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")), 0)
                self.requests.append(head + await reader.readexactly(length))
                writer.write(self.script.pop(0) if len(self.script) > 1 else self.script[0])
                await writer.drain()
                if self.then == "cut":
                    return
                if self.then == "hold":
                    await self.released.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.open.discard(writer)
            writer.transport.abort()


@asynccontextmanager
async def client_of(peer, *, tls=None, host="127.0.0.1", **options):
    url = httpx2.URL(f"{'https' if peer.tls else 'http'}://{host}:{peer.port}")
    transport = DirectTransport(url, tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), **options)
    async with httpx2.AsyncClient(base_url=url, transport=transport, timeout=PATIENCE_SECONDS) as client:
        yield client, transport
    assert transport.open == set()


async def reached(condition):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def run(work):
    return asyncio.run(work())


def test_requests_one_after_the_other_use_one_connection():
    async def work():
        async with Peer(WHOLE) as peer, client_of(peer) as (client, transport):
            for number in range(5):
                answer = await client.post("/apis", content=b"x" * number)
                assert (answer.status_code, answer.json()) == (200, {"a": 1})
            assert (peer.connections, len(peer.requests), len(transport.open)) == (1, 5, 1)
            assert peer.requests[4].endswith(b"\r\n\r\nxxxx")

    run(work)


def test_concurrent_requests_have_a_connection_each():
    async def work():
        async with Peer(WHOLE, then="hold") as peer, client_of(peer) as (client, transport):
            streams = [client.stream("GET", "/apis", params={"watch": "true"}) for _ in range(150)]
            for stream in streams:
                await stream.__aenter__()
            assert len(transport.open) == peer.connections == 150
            for stream in streams:
                await stream.__aexit__(None, None, None)
            assert len(transport.open) <= 150

    run(work)


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="Linux names the times like this")
def test_connection_has_the_system_ask_within_a_minute_whether_the_server_is_there():
    async def work():
        async with Peer(WHOLE) as peer:
            _, stream = await asyncio.get_running_loop().create_connection(Stream, "127.0.0.1", peer.port)
            line = stream.get_extra_info("socket")
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            idle, pause, count = (
                line.getsockopt(socket.IPPROTO_TCP, each)
                for each in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            )
            assert idle + pause * count <= 60
            await stream.aclose()

    run(work)


def test_large_answers_arrive_whole():
    body = bytes(range(256)) * 20_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def work():
        async with Peer(answer) as peer, client_of(peer) as (client, _):
            async with client.stream("GET", "/") as response:
                await asyncio.sleep(0.1)  # until the stream is full, and reading stops
                parts = [part async for part in response.aiter_bytes()]
            assert b"".join(parts) == body
            assert (await client.get("/")).content == body
            assert peer.connections == 1

    run(work)


def test_body_that_is_not_read_to_its_end_closes_the_connection():
    async def work():
        async with Peer(CHUNKED + b"3\r\nabc\r\n", then="hold") as peer, client_of(peer) as (client, transport):
            async with client.stream("GET", "/") as response:
                assert await anext(response.aiter_bytes()) == b"abc"
            assert transport.open == set()
            await reached(lambda: peer.connections == 1)

    run(work)


def test_cancel_in_mid_body_closes_the_connection():
    async def work():
        async with Peer(CHUNKED + b"3\r\nabc\r\n", then="hold") as peer, client_of(peer) as (client, transport):
            task = asyncio.ensure_future(client.get("/"))
            await reached(lambda: peer.requests)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert transport.open == set()

    run(work)


@pytest.mark.parametrize("seconds", [0, 0.001, 0.01])
def test_cancel_at_any_time_leaks_no_connection(seconds):
    async def work():
        async with Peer(WHOLE) as peer, client_of(peer) as (client, transport):
            tasks = [asyncio.ensure_future(client.get("/")) for _ in range(20)]
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            gc.collect()  # would tell of sockets that are still open
            assert all(connection.is_idle() for connection in transport.open)
            assert (await client.get("/")).json() == {"a": 1}

    run(work)


def test_line_cut_at_any_byte_is_an_error_and_leaks_nothing():
    async def work():
        for end in range(len(WHOLE)):
            async with Peer(WHOLE[:end], then="cut") as peer, client_of(peer) as (client, transport):
                with pytest.raises(httpx2.HTTPError) as caught:
                    await client.post("/", content=b"x")
                assert not isinstance(caught.value, httpx2.ConnectError), end  # it has arrived
                assert (transport.open, len(peer.requests)) == (set(), 1)

    run(work)


def test_connection_that_the_server_has_closed_is_not_used_again():
    async def work():
        async with Peer(WHOLE) as peer, client_of(peer) as (client, _):
            await client.get("/")
            for writer in list(peer.open):
                writer.close()
            await reached(lambda: not peer.open)
            await asyncio.sleep(0.05)
            assert (await client.post("/", content=b"x")).json() == {"a": 1}
            assert peer.connections == 2

    run(work)


def test_answer_that_ends_the_connection_is_followed_by_another():
    answer = b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{"a":1}'

    async def work():
        async with Peer(answer) as peer, client_of(peer) as (client, transport):
            for _ in range(2):
                assert (await client.get("/")).json() == {"a": 1}
            assert (peer.connections, transport.open) == (2, set())

    run(work)


def test_connection_with_bytes_that_no_request_asked_for_is_closed():
    async def work():
        async with Peer(WHOLE) as peer, client_of(peer) as (client, _):
            await client.get("/")
            for writer in peer.open:
                writer.write(b"HTTP/1.1 500 Wrong\r\nContent-Length: 0\r\n\r\n")
            await asyncio.sleep(0.05)
            assert (await client.get("/")).status_code == 200
            assert peer.connections == 2

    run(work)


def test_connection_that_was_idle_for_too_long_is_closed():
    async def work():
        async with Peer(WHOLE) as peer, client_of(peer, idle_seconds=0.05) as (client, transport):
            await asyncio.gather(*(client.get("/") for _ in range(5)))
            await asyncio.sleep(0.1)
            await client.get("/")
            assert len(transport.open) == 1

    run(work)


def test_silent_server_gives_a_read_timeout():
    async def work():
        async with Peer(HEAD, then="hold") as peer, client_of(peer) as (client, transport):
            with pytest.raises(httpx2.ReadTimeout):
                await client.get("/", timeout=httpx2.Timeout(PATIENCE_SECONDS, read=0.05))
            assert transport.open == set()

    run(work)


def test_server_that_does_not_shake_hands_gives_a_connect_timeout(tmp_path):
    async def work():
        async with Peer(WHOLE) as peer:
            url = httpx2.URL(f"https://127.0.0.1:{peer.port}")
            transport = DirectTransport(url, ssl.create_default_context())
            async with httpx2.AsyncClient(transport=transport) as client:
                with pytest.raises(httpx2.ConnectTimeout):
                    await client.get(url, timeout=httpx2.Timeout(PATIENCE_SECONDS, connect=0.05))

    run(work)


def test_refused_connection_is_a_connect_error():
    async def work():
        async with Peer(WHOLE) as peer:
            pass
        async with client_of(peer) as (client, _):
            with pytest.raises(httpx2.ConnectError):
                await client.get("/")

    run(work)


def test_tls_verifies_the_name_and_keeps_the_connection(tmp_path):
    authority = Authority(tmp_path)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*authority.issue("server"))

    async def work():
        async with Peer(WHOLE, tls=server) as peer:
            trusted = ssl.create_default_context(cafile=authority.path)
            async with client_of(peer, tls=trusted) as (client, _):
                for _ in range(3):
                    assert (await client.get("/")).json() == {"a": 1}
            assert peer.connections == 1
            for context, host in ((ssl.create_default_context(), "127.0.0.1"), (trusted, "127.0.0.2")):
                async with client_of(peer, tls=context, host=host) as (client, _):
                    with pytest.raises(httpx2.ConnectError):
                        await client.get("/")
            assert len(peer.requests) == 3

    run(work)


def test_another_server_is_not_called():
    async def work():
        async with Peer(WHOLE) as peer, Peer(WHOLE) as other, client_of(peer) as (client, _):
            with pytest.raises(RuntimeError), suppress(httpx2.HTTPError):
                await client.get(f"http://127.0.0.1:{other.port}/")
            assert other.connections == 0

    run(work)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"https_proxy": "http://proxy:3128"}, True),
        ({"all_proxy": "http://proxy:3128"}, True),
        ({"http_proxy": "http://proxy:3128"}, False),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "other,kube.example"}, False),
    ],
)
def test_proxy_of_the_environment_is_respected(monkeypatch, environment, expected):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_proxied(httpx2.URL("https://kube.example:6443")) is expected
