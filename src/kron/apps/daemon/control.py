"""Control socket: people ask the daemon for what `krontab` shows and changes, with the rights of their accounts.

A client that is silent, slow or hostile costs one of a bounded number of connections for a bounded time. Commands run
in threads of their own, so that jobs start meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from kron.apps.daemon.peer import Peer, peer_of, uid_of
from kron.apps.daemon.reloader import Reloader
from kron.apps.host.place import Place
from kron.apps.host.spool import MAX_USER_BYTES
from kron.apps.host.table_file import MAX_FILE_BYTES
from kron.apps.host.wire import MAX_LINE_BYTES, TIMEOUT_SECONDS, Request, answer_lines, read_request
from kron.apps.krontab.answer import Answer
from kron.apps.krontab.commands.log import POLL_SECONDS
from kron.engine.events import Event, Sink
from kron.errors import AccessDenied, InvalidInput, KronError, QuotaExceeded, Unavailable

MAX_CLIENTS, MAX_CLIENTS_OF_USER = 32, 8
MAX_TASKS = 2 * MAX_CLIENTS  # with the clients that are refused; others are closed without an answer
LINGER_SECONDS = 1.0  # for which the rest of a refused request is read
THREADS = 2  # for those who may do everything, and as many for all others
CHANGES = frozenset(("install", "remove", "reload"))  # the tables are read before the answer
T = TypeVar("T")


class Control:
    """Control socket of a daemon. `notify` is called after a command that can have changed a job."""

    def __init__(self, place: Place, reloader: Reloader, sink: Sink, notify: Callable[[], None]) -> None:
        self.place, self.reloader, self.sink, self.notify = place, reloader, sink, notify
        self.clients, self.changing = Counter[int](), asyncio.Lock()
        self.threads = {is_privileged: ThreadPoolExecutor(THREADS, "krond-control") for is_privileged in (True, False)}
        self.tasks = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Answer requests meanwhile. Jobs also run without the socket, so that its failure is only logged."""
        try:
            listener = _listen(self.place)
        except OSError as error:
            self.sink(Event("socket_failed", 0, {"path": str(self.place.socket), "error": str(error)}))
            yield
            return
        server = await asyncio.start_unix_server(self._connected, sock=listener, limit=MAX_LINE_BYTES)
        try:
            yield
        finally:
            server.close()
            for task in self.tasks:
                task.cancel()
            for pool in self.threads.values():
                pool.shutdown(wait=False, cancel_futures=True)
            with suppress(OSError):
                Path(str(self.place.socket)).unlink()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the request of one connection, and close it."""
        uid = uid_of(writer.get_extra_info("socket"))
        is_counted = self.clients.total() < MAX_CLIENTS and self.clients[uid] < MAX_CLIENTS_OF_USER
        self.clients[uid] += is_counted
        try:
            if not is_counted:
                raise QuotaExceeded("QUOTA", "krond has too many connections", hint="try again in a few seconds")
            await self._converse(uid, reader, writer)
        except KronError as error:
            if len(self.tasks) <= MAX_TASKS:
                with suppress(OSError, TimeoutError):
                    await _refuse(reader, writer, error)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client has gone, or does not read its answer
        finally:
            self.clients[uid] -= is_counted
            self.clients += Counter()  # forgets the users without connections
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _converse(self, uid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        peer = await self._in_thread(lambda: peer_of(uid, user=self.place.user), is_privileged=uid == 0)
        content = await _read_content(reader, request, MAX_FILE_BYTES if peer.is_privileged else MAX_USER_BYTES)
        if request.command in CHANGES:
            async with self.changing:
                await self._answer(peer, request, content, reader, writer)
        else:
            await self._answer(peer, request, content, reader, writer)

    async def _answer(
        self,
        peer: Peer,
        request: Request,
        content: bytes | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if request.command == "reload":
            return await self._reload(peer, writer)
        answer = await self._in_thread(lambda: Answer(request, content), is_privileged=peer.is_privileged)
        place = await self._in_thread(lambda: peer.place(self.place, answer.owner), is_privileged=peer.is_privileged)
        steps = answer.run(place, peer.account.name)
        while await self._in_thread(lambda: _has_next(steps), is_privileged=peer.is_privileged):
            await _send(writer, None, *answer.take())
            if await _has_left(reader):
                return None
        if request.command in CHANGES:
            await self.reloader.reload()
        self.notify()
        return await _send(writer, answer.status, *answer.take(), *answer.screen.errors)

    async def _reload(self, peer: Peer, writer: asyncio.StreamWriter) -> None:
        if not peer.is_privileged:
            hint = "krond notices changes by itself"
            raise AccessDenied("FORBIDDEN", f"user {peer.account.name!r} cannot reload all tables", hint=hint)
        await self.reloader.reload()
        await _send(writer, 0, "", f"{self.reloader.summary}\n")

    async def _in_thread(self, call: Callable[[], T], *, is_privileged: bool) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.threads[is_privileged], call)


def _listen(place: Place) -> socket.socket:
    """Return a socket that listens at the path of the place. Everyone on the host can connect to that of the host.

    Raises:
        OSError: The path cannot be used, or another daemon listens there.
    """
    path = Path(str(place.socket))
    path.parent.mkdir(mode=0o700 if place.user else 0o755, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        if _is_answered(str(path)):
            raise OSError(f"another krond listens at {path}")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o600 if place.user else 0o666)  # before it listens, so that no one can connect meanwhile
        listener.listen(MAX_CLIENTS)
    except BaseException:
        listener.close()
        raise
    return listener


def _is_answered(path: str) -> bool:
    """Return whether a process listens at a path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(TIMEOUT_SECONDS)
        try:
            probe.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


async def _read_request(reader: asyncio.StreamReader) -> Request:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            line = await reader.readuntil(b"\n")
    except TimeoutError:
        message = f"no request arrived within {TIMEOUT_SECONDS:g} s"
        raise Unavailable("SLOW_BODY", message, hint="send one line of JSON that ends with a line feed") from None
    except asyncio.LimitOverrunError:
        message = f"the request is longer than {MAX_LINE_BYTES:,} bytes"
        raise InvalidInput("TOO_LARGE", message, hint="send a table after the line, and its size as bytes") from None
    return read_request(line)


async def _read_content(reader: asyncio.StreamReader, request: Request, max_bytes: int) -> bytes | None:
    """Return the bytes that follow a request."""
    if request.size is None:
        return None
    if request.size > max_bytes:
        message = f"the table has {request.size:,} bytes; {max_bytes:,} are allowed"
        raise InvalidInput("TOO_LARGE", message, hint="remove jobs or comments")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await reader.readexactly(request.size)
    except TimeoutError:
        message = f"the table did not arrive within {TIMEOUT_SECONDS:g} s"
        raise Unavailable("SLOW_BODY", message, hint="send as many bytes as the request says") from None


async def _send(writer: asyncio.StreamWriter, status: int | None, out: str, err: str, *errors: KronError) -> None:
    """Send an answer, or a part of it. Raises TimeoutError if the client does not read it."""
    for line in answer_lines(status, out, err, errors):
        writer.write(line)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await writer.drain()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while writer.transport.get_write_buffer_size():
            await asyncio.sleep(0.01)


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, error: KronError) -> None:
    """Send an error, and read for a while what the client still sends: otherwise it would lose the answer."""
    await _send(writer, 1, "", f"{error}\n", error)
    writer.write_eof()
    async with asyncio.timeout(LINGER_SECONDS):
        while await reader.read(MAX_LINE_BYTES):
            pass


async def _has_left(reader: asyncio.StreamReader) -> bool:
    """Wait for the time between two steps. Returns whether the client has closed the connection meanwhile."""
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            return not await reader.read(1)
    return False


def _has_next(steps: Iterator[None]) -> bool:
    """Take one step. Returns whether there can be another one."""
    return next(steps, _END) is None


_END = object()
