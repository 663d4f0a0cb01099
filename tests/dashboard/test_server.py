"""The server of a dashboard on this machine."""

import socket
from contextlib import closing

from kron.apps.dashboard.server import sockets_of


def test_connection_sends_at_once():
    """Without this, the body of a page waits until the browser has confirmed the headers, which takes 40 ms."""
    (listener,) = sockets_of("127.0.0.1", 0)
    with closing(listener), socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with closing(accepted):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
