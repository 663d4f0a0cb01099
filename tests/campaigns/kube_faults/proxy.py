"""Proxy between an operator and the API server: it cuts watches and answers instead of the server."""

import asyncio
import json
import ssl
import threading
import time
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit


class Request(NamedTuple):
    """Request of the operator. A watch has the method `WATCH`, a list `LIST`."""

    at: float
    method: str
    path: str
    query: dict

    @property
    def is_watch(self):
        return self.method == "WATCH"


class Fault(NamedTuple):
    """Answer instead of that of the server, for a share of the requests that match."""

    matches: object  # called with the request
    status: int
    reason: str = ""
    retry_after: str = ""
    every: int = 1  # of so many matching requests, one passes; 1: none


class Proxy:
    """Proxy on a port of its own, in a thread of its own."""

    def __init__(self, cluster):
        self.server_port = cluster.port
        self.context = ssl.create_default_context(cafile=cluster.folder / "certificates" / "apiserver.crt")
        self.faults, self.requests, self.watches, self.lines, self.is_down = [], [], set(), set(), False
        self.matched, self.answered = 0, 0
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()
        self.url = f"http://127.0.0.1:{self.port}"

    def cut_watches(self):
        """Cut the lines of all watches."""
        self.loop.call_soon_threadsafe(self._cut, self.watches)

    def refuse(self, is_down):
        """Cut all lines and take no more, or take them again."""
        self.is_down = is_down
        self.loop.call_soon_threadsafe(self._cut, self.lines)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()
        server.close()
        tasks = list(self.lines)
        self._cut(tasks)
        self.loop.run_until_complete(asyncio.gather(*tasks))
        self.loop.close()

    def _cut(self, tasks):
        for task in list(tasks):
            task.cancel()

    async def _serve(self, reader, writer):
        task, back = asyncio.current_task(), None
        self.lines.add(task)
        try:
            while not self.is_down:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length_of(head) or 0)
                request = _request_of(head)
                self.requests.append(request)
                fault = self._fault(request)
                if fault:
                    writer.write(_answer_of(fault))
                    continue
                back = back or await asyncio.open_connection("127.0.0.1", self.server_port, ssl=self.context)
                back[1].write(head + body)
                await self._relay(back[0], writer, request)
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # a line was cut, or the proxy is closed
        finally:
            self.lines.discard(task)
            for line in (writer, back[1] if back else writer):
                line.transport.abort()

    async def _relay(self, reader, writer, request):
        """Pass an answer on, as it comes."""
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        if request.is_watch:
            self.watches.add(asyncio.current_task())
        try:
            length = _length_of(head)
            while length is None:
                line = await reader.readuntil(b"\r\n")
                size = int(line, 16)
                writer.write(line + await reader.readexactly(size + 2))
                await writer.drain()
                length = None if size else 0
            writer.write(await reader.readexactly(length))
            await writer.drain()
        finally:
            self.watches.discard(asyncio.current_task())

    def _fault(self, request):
        for fault in self.faults:
            if fault.matches(request):
                self.matched += 1
                if fault.every == 1 or self.matched % fault.every:
                    self.answered += 1
                    return fault
        return None


def _request_of(head):
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    split = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(split.query).items()}
    if method == "GET" and split.path.endswith(("/jobs", "/kronjobs")):
        method = "WATCH" if query.get("watch") else "LIST"
    return Request(time.monotonic(), method, split.path, query)


def _length_of(head):
    """Length of the body; None if it comes in chunks."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
        if line.startswith(b"transfer-encoding:"):
            return None
    return 0


def _answer_of(fault):
    body = {"kind": "Status", "code": fault.status, "reason": fault.reason, "message": "as the campaign asks"}
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {fault.status} {fault.reason or 'Fault'}", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(content)}", *([f"Retry-After: {fault.retry_after}"] if fault.retry_after else [])]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content
