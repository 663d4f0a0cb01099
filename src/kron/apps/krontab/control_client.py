"""Control client: asks a daemon through its socket, and prints its answer."""

from __future__ import annotations

import argparse
import json
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from kron.apps.cli.console import Screen
from kron.apps.host.place import HOST_SOCKET, default_paths
from kron.apps.host.wire import MAX_LINE_BYTES, TIMEOUT_SECONDS, Request
from kron.apps.visible import visible
from kron.errors import KronError, Unavailable, error_of

ANSWER_SECONDS = 60.0  # for the next part of an answer


def socket_of(args: argparse.Namespace) -> Path | None:
    """Return the socket of the daemon to ask; None if this user works on the files of the daemon.

    These are root, and a user who has a `krond`. Other users ask the `krond` of the host, if there is one.
    """
    if args.socket:
        return Path(args.socket)
    if not hasattr(os, "geteuid") or os.geteuid() == 0 or args.user or args.shadow or args.config or args.state:
        return None
    has_own_daemon = any(path.exists() for path in default_paths(user=True))
    return None if has_own_daemon or not HOST_SOCKET.exists() else HOST_SOCKET


def print_answer(path: Path, request: Request, content: bytes | None, screen: Screen, *, follows: bool = False) -> int:
    """Print what a daemon answers, and return the exit status of the command. With `follows`, wait without end.

    Raises:
        Unavailable: The daemon does not answer.
    """
    for fields in _answers(path, request, content, None if follows else ANSWER_SECONDS):
        _print(screen.out, str(fields.get("out", "")))
        _print(screen.err, str(fields.get("err", "")))
        if "status" in fields:
            return int(fields["status"])
    raise _unreachable(path, "the connection ended before the answer")


def read_answer(path: Path, command: str, arguments: Sequence[str]) -> Any:
    """Return the JSON that a command prints in a daemon.

    Raises:
        KronError: The daemon does not answer, or refuses the request.
    """
    text, fields = "", dict[str, Any]()
    for fields in _answers(path, Request(command, ("-o=json", *arguments)), None, ANSWER_SECONDS):
        text += str(fields.get("out", ""))
    if "status" not in fields:
        raise _unreachable(path, "the connection ended before the answer")
    for error in fields["errors"]:
        raise error_of(error["code"], error["message"], hint=error["hint"] or "")
    return json.loads(text)


def _answers(path: Path, request: Request, content: bytes | None, seconds: float | None) -> Iterator[dict[str, Any]]:
    """Yield the lines of an answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.connect(str(path))
            _send(connection, request.line() + (content or b""))
            connection.settimeout(seconds)
            with connection.makefile("rb") as stream:
                while line := stream.readline(MAX_LINE_BYTES + 1):
                    yield json.loads(line)
    except (OSError, ValueError) as error:
        raise _unreachable(path, getattr(error, "strerror", None) or str(error)) from None


def _send(connection: socket.socket, content: bytes) -> None:
    """Send a request. A daemon that refuses it early answers and reads no further."""
    try:
        connection.sendall(content)
    except BrokenPipeError:
        return


def _print(stream: TextIO, text: str) -> None:
    if text:
        stream.write("\n".join(map(visible, text.split("\n"))))
        stream.flush()


def _unreachable(path: Path, reason: str) -> KronError:
    hint = "check that krond runs; with --user, krontab works on the krond of this user"
    return Unavailable("UNREACHABLE", f"krond does not answer at {path}: {reason}", hint=hint)
