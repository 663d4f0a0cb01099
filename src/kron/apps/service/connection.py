"""HTTP connections that know the client certificate and limit the wait for a request."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection

from uvicorn.protocols.http.h11_impl import H11Protocol

from kron.apps.service.auth.certificate import peer_certificate

HEAD_SECONDS = 10.0  # time limit for the head of a request, from the connection or from the previous response
MAX_WAITING = 300  # connections without a request; above that, the one that has waited longest is closed


class Connection(H11Protocol):
    """One connection."""

    allowed: frozenset[str]  # names of which a certificate must have one; empty: any
    waiting: OrderedDict[Connection, asyncio.TimerHandle]  # connections of the server without a request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Check the client certificate before anything is read."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = peer_certificate(tls) if tls else None
        self.app_state = {**self.app_state, "certificate": certificate}
        if self.allowed and not (certificate and certificate.names & self.allowed):
            transport.close()
            return
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Read data. Once the head of a request is complete, the connection no longer counts as waiting."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self.transport.is_closing():
            self._await_request()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # a pipelined request had already arrived
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the waiting ones."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._stop_waiting()
        self.waiting[self] = self.loop.call_later(HEAD_SECONDS, self._hang_up)
        if len(self.waiting) > MAX_WAITING:
            next(iter(self.waiting))._hang_up()

    def _stop_waiting(self) -> None:
        handle = self.waiting.pop(self, None)
        if handle is not None:
            handle.cancel()

    def _hang_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def protocol(allowed: Collection[str]) -> type[H11Protocol]:
    """Return the HTTP protocol of one server. It rejects certificates without an `allowed` name, if any are given."""
    return type("Protocol", (Connection,), {"allowed": frozenset(allowed), "waiting": OrderedDict()})
