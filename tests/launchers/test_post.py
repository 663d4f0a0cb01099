"""Posting: chunked answers, addresses that are cut off, connections that are used again, and what is certain then."""

import asyncio
import socket
import ssl
import threading
import time
from contextlib import contextmanager

import pytest

from kron.apps.service.config_check import RANGES
from kron.engine.settings import Settings
from kron.launchers.address import networks
from kron.launchers.connection import MAX_IDLE_CONNECTIONS, in_turn
from kron.launchers.post import MAX_REQUESTS, Forbidden, NotSent, PartiallySent, Poster
from kron.launchers.target import read_url
from tests.service.certificates import Authority

LOOPBACK = networks(["127.0.0.0/8"])
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


class Server:
    """Answers each request as it is told: `answer(connection, request)`, numbers from 1. None hangs up."""

    def __init__(self, answer=lambda c, r: EMPTY, tls=None, host="127.0.0.1", port=0):
        self.answer, self.tls = answer, tls
        self.listener = socket.create_server((host, port), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.requests, self.names, self.open = [], [], []
        if tls:
            tls.sni_callback = lambda sock, name, context: self.names.append(name)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            threading.Thread(target=self._serve, args=(connection, len(self.open)), daemon=True).start()

    def _serve(self, connection, number):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            count = 0
            while request := self._request(connection):
                count += 1
                self.requests.append((number, request))
                said = self.answer(number, count)
                if said is None:
                    break
                connection.sendall(said)
        except (OSError, ValueError):
            pass
        finally:
            connection.close()

    @staticmethod
    def _request(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                return b""
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self):
        self.listener.close()
        for connection in self.open:
            connection.close()


@contextmanager
def serving(*args, **more):
    server = Server(*args, **more)
    try:
        yield server
    finally:
        server.close()


def names(**known):
    """A resolver of names that the test decides on."""

    async def resolve(host, payer):
        found = known[host.partition(".")[0]]
        return found if isinstance(found, list) else found()

    return resolve


async def post(poster, url, body=b"{}", seconds=3.0):
    return await poster.post(read_url(url, plain=True), {"webhook-id": "k"}, body, seconds)


def play(script, **more):
    """Run a script with a poster, and leave nothing open."""

    async def played():
        poster = Poster(allowed=LOOPBACK, **more)
        try:
            return await script(poster)
        finally:
            poster.close()

    return asyncio.run(played())


def test_chunked_answer_is_read():
    body = b'HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{"key"\r\n5\r\n:"k"}\r\n0\r\n\r\n'
    with serving(lambda c, r: body) as server:
        reply = play(lambda poster: post(poster, f"http://127.0.0.1:{server.port}/"))
    assert (reply.status, reply.body) == (409, b'{"key":"k"}')


def test_answer_that_ends_with_its_connection_is_read():
    with serving(lambda c, r: None) as server:
        server.answer = lambda c, r: b"HTTP/1.0 200 OK\r\n\r\nhello" if r == 1 else None
        threading.Timer(0.3, lambda: [each.shutdown(socket.SHUT_RDWR) for each in server.open]).start()
        reply = play(lambda poster: post(poster, f"http://127.0.0.1:{server.port}/"))
    assert (reply.status, reply.body) == (200, b"hello")


@contextmanager
def cut_off(host, port):
    """An address that does not answer: its queue is full, so that further connections wait for ever."""
    listener = socket.socket()
    listener.bind((host, port))
    listener.listen(0)
    fillers = []
    for _ in range(8):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex((host, port))
        fillers.append(filler)
    time.sleep(0.1)
    try:
        yield
    finally:
        for each in (listener, *fillers):
            each.close()


def test_address_that_is_cut_off_leaves_time_for_the_next():
    async def timed(poster):
        began = time.monotonic()
        reply = await post(poster, f"http://two.example:{server.port}/", seconds=3.0)
        return reply, time.monotonic() - began

    with serving() as server, cut_off("127.0.0.2", server.port):
        reply, lasted = play(timed, resolve=names(two=["127.0.0.2", "127.0.0.1"]))
        assert reply.status == 204
        assert 1.0 < lasted < 3.0  # half the time for each


def test_addresses_are_tried_by_family_in_turn():
    assert in_turn(["2a00::1", "2a00::2", "2a00::3", "1.1.1.1", "1.1.1.2"])[:4] == [
        "2a00::1", "1.1.1.1", "2a00::2", "1.1.1.2",
    ]  # fmt: skip
    assert in_turn(["1.1.1.1"]) == ["1.1.1.1"]


def test_connection_is_used_again_for_the_same_origin():
    async def script(poster):
        for _ in range(5):
            assert (await post(poster, url)).status == 204

    with serving() as server:
        url = f"http://127.0.0.1:{server.port}/"
        play(script)
        assert [number for number, _ in server.requests] == [1] * 5


def test_connection_is_not_used_again_where_the_server_closes():
    async def script(poster):
        for _ in range(3):
            assert (await post(poster, f"http://127.0.0.1:{server.port}/")).status == 200

    with serving(lambda c, r: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") as server:
        play(script)
        assert [number for number, _ in server.requests] == [1, 2, 3]


def test_body_that_was_cut_is_not_the_beginning_of_the_next_answer():
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000

    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        first = await post(poster, url)
        return first, await post(poster, url)

    with serving(lambda c, r: long if c == 1 else EMPTY) as server:
        first, second = play(script)
        assert (first.status, second.status) == (200, 204)
        assert 0 < len(first.body) <= 64 * 1024
        assert [number for number, _ in server.requests] == [1, 2]


def test_connection_closed_while_idle_is_passed_over():
    """The server has hung up before the request: it is certain that nothing left, and another connection is made."""

    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        await post(poster, url)
        server.open[0].shutdown(socket.SHUT_RDWR)
        await asyncio.sleep(0.1)
        return await post(poster, url)

    with serving() as server:
        assert play(script).status == 204
        assert [number for number, _ in server.requests] == [1, 2]


def test_connection_closed_between_choice_and_request_is_passed_over():
    """The end arrives after the connection was chosen, and before anything was written."""

    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        await post(poster, url)
        (connection,) = poster.connections.waiting
        begin = connection.stream.begin

        def closed_meanwhile(most):
            begin(most)
            connection.stream.eof_received()

        connection.stream.begin = closed_meanwhile
        return await post(poster, url)

    with serving() as server:
        assert play(script).status == 204
        assert [number for number, _ in server.requests] == [1, 2]


def test_reused_connection_closed_without_an_answer_is_unknown_and_sent_once():
    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        await post(poster, url, b"first")
        with pytest.raises(PartiallySent):
            await post(poster, url, b"second")

    with serving(lambda c, r: EMPTY if r == 1 else None) as server:
        play(script)
        assert [request.rpartition(b"\r\n")[2] for _, request in server.requests] == [b"first", b"second"]


def test_words_that_nobody_asked_for_are_not_taken_for_an_answer():
    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        first = await post(poster, url)
        await asyncio.sleep(0.1)
        return first.status, (await post(poster, url)).status

    more = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with serving(lambda c, r: EMPTY + more if c == 1 else b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") as server:
        assert play(script) == (204, 503)


def test_name_that_turns_forbidden_is_not_reached_by_a_standing_connection():
    addresses = ["127.0.0.1"]

    async def script(poster):
        url = f"http://turns.example:{server.port}/"
        await post(poster, url)
        assert len(poster.connections.waiting) == 1
        addresses[:] = ["10.0.0.1"]
        with pytest.raises(Forbidden):
            await post(poster, url)

    with serving() as server:
        play(script, resolve=names(turns=addresses))
        assert len(server.requests) == 1


def test_name_that_moves_leaves_its_standing_connection():
    addresses = ["127.0.0.1"]

    async def script(poster):
        url = f"http://moves.example:{server.port}/"
        await post(poster, url)
        addresses[:] = ["127.0.0.3"]
        await post(poster, url)

    with serving() as server, serving(host="127.0.0.3", port=server.port) as other:
        play(script, resolve=names(moves=addresses))
        assert (len(server.requests), len(other.requests)) == (1, 1)


def test_connections_are_not_shared_between_names_of_one_address(tmp_path):
    """Both names lead to one address with a certificate for one of them: the other is not spoken to."""
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server", more=["good.example"]))

    async def script(poster):
        assert (await post(poster, f"https://good.example:{server.port}/")).status == 204
        assert (await post(poster, f"https://good.example:{server.port}/")).status == 204
        with pytest.raises(NotSent):
            await post(poster, f"https://evil.example:{server.port}/")

    with serving(tls=context) as server:
        trusted = ssl.create_default_context(cafile=str(authority.path))
        play(script, resolve=names(good=["127.0.0.1"], evil=["127.0.0.1"]), tls=trusted)
        assert server.names == ["good.example", "evil.example"]
        assert [number for number, _ in server.requests] == [1, 1]


def test_idle_connections_are_closed_in_time_and_bounded():
    async def script(poster):
        poster.connections.idle = 0.2
        await asyncio.gather(*(post(poster, f"http://127.0.0.1:{server.port}/") for _ in range(30)))
        kept = len(poster.connections.waiting)
        await asyncio.sleep(0.4)
        return kept, len(poster.connections.waiting)

    with serving() as server:
        kept, after = play(script)
        assert 1 <= kept <= MAX_IDLE_CONNECTIONS
        assert after == 0


def test_host_has_a_bounded_number_of_requests(monkeypatch):
    monkeypatch.setattr("kron.launchers.post.MAX_REQUESTS_PER_HOST", 2)
    busy, most = [], []

    def slow(c, r):
        busy.append(c)
        most.append(len(busy))
        time.sleep(0.1)
        busy.remove(c)
        return EMPTY

    async def script(poster):
        replies = await asyncio.gather(*(post(poster, f"http://127.0.0.1:{server.port}/") for _ in range(6)))
        assert {reply.status for reply in replies} == {204}
        assert poster.hosts.gates == {}

    with serving(slow) as server:
        play(script)
        assert max(most) == 2


def test_request_that_waits_for_its_turn_too_long_was_not_sent(monkeypatch):
    monkeypatch.setattr("kron.launchers.post.MAX_REQUESTS_PER_HOST", 1)

    async def script(poster):
        url = f"http://127.0.0.1:{server.port}/"
        first = asyncio.create_task(post(poster, url, seconds=1.0))
        await asyncio.sleep(0.1)
        with pytest.raises(NotSent):
            await post(poster, url, seconds=0.3)
        with pytest.raises(PartiallySent):
            await first

    with serving(lambda c, r: time.sleep(2)) as server:
        play(script)
        assert len(server.requests) == 1


def test_header_with_a_line_feed_is_never_sent():
    async def script(poster):
        with pytest.raises(NotSent):
            await poster.post(read_url(f"http://127.0.0.1:{server.port}/", plain=True), {"a": "b\r\nc: d"}, b"", 1.0)

    with serving() as server:
        play(script)
        assert server.requests == []


def test_large_request_arrives_whole():
    body = b"x" * 3_000_000
    with serving() as server:
        assert play(lambda poster: post(poster, f"http://127.0.0.1:{server.port}/", body)).status == 204
        assert server.requests[0][1].endswith(b"\r\n\r\n" + body)


def test_every_launch_of_a_worker_may_be_on_its_way():
    """Else tenants that hang, each within its share of slow launches, would keep all others from being sent."""
    _, most_sends = RANGES["max_concurrent_launches"]
    assert most_sends + Settings().max_slow_launches <= MAX_REQUESTS
