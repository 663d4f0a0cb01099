"""Transport: sends requests to one service, and raises its error responses with the service's error code."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from kron.client.results import Json
from kron.errors import KronError, LanguageError, Place, Unavailable, UsageError, error_of

RETRIES = 3  # repeats of a request, by default
FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.1, 30.0  # before the first repeat; the longest that a service can ask for


class Message(NamedTuple):
    """Request that can be sent several times.

    Attributes:
        method: HTTP method.
        target: Path and query.
        body: Body; None sends none.
        headers: All headers.
        repeatable: Whether two requests have the effect of one, so that a request without a response can be repeated.
    """

    method: str
    target: str
    body: str | None
    headers: Mapping[str, str]
    repeatable: bool


class Transport:
    """Connection settings of one service. Threads can share a transport: each request opens its own connection.

    A request is repeated if the service did not receive it or asks to wait. If the response was lost, it is repeated
    only if two requests have the effect of one.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
        retries: How often a request is repeated.
    """

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0, retries: int = RETRIES) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("USAGE", f"invalid service URL {url!r}", hint="use a URL such as https://kron.example.org")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.path, self.timeout, self.retries, self._token = parts.path.rstrip("/"), timeout, retries, token

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> Json:
        """Send any request to the HTTP API and return the JSON object of the response.

        Fields of `body` that are None are left out. `repeatable` says that two requests have the effect of one. It is
        known of GET, of requests with an idempotency key, and of PUT without a condition.

        Raises:
            LanguageError: The service rejected a schedule text; the error has the position.
            KronError: The service rejected the request; the class is that of the error's code.
            Unavailable: The service does not answer.
        """
        text = None if body is None else json.dumps({k: v for k, v in body.items() if v is not None})
        content = self._send(method, path, text, query=query, headers=headers, repeatable=repeatable)
        return _json_object(content)

    def _send(
        self,
        method: str,
        path: str,
        body: str | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> bytes:
        """Send a request with any body and return the body of the response. Errors are those of `request`."""
        message = self._message(method, path, body, query, headers or {}, repeatable)
        for repeat in range(self.retries + 1):
            try:
                with self._response_to(message) as response:
                    return response.read()
            except _Repeat as failure:
                if repeat == self.retries:
                    raise failure.error from None
                time.sleep(failure.delay or FIRST_DELAY_SECONDS * 2**repeat * random.uniform(0.5, 1))  # noqa: S311
        raise AssertionError

    def _stream(self, path: str, *, query: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[bytes]:
        """Yield the lines of a response while it arrives."""
        message = self._message("GET", path, None, query, headers, repeatable=True)
        try:
            with self._response_to(message) as response:
                yield from response
        except _Repeat as failure:
            raise failure.error from None

    def _message(
        self,
        method: str,
        path: str,
        body: str | None,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        repeatable: bool,
    ) -> Message:
        names = {name.lower() for name in headers}
        unconditional = method == "PUT" and not names & {"if-match", "if-none-match"}
        repeatable = repeatable or method == "GET" or unconditional or "idempotency-key" in names
        all_headers = {"Accept": "application/json", **headers}
        if body is not None:
            all_headers.setdefault("Content-Type", "application/json")
        all_headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        target = self.path + path + (f"?{urlencode(query, doseq=True)}" if query else "")
        return Message(method, target, body, all_headers, repeatable)

    @contextmanager
    def _response_to(self, message: Message) -> Iterator[HTTPResponse]:
        """Send a message once. Raises `_Repeat` if it can be sent again."""
        kind = HTTPSConnection if self.secure else HTTPConnection
        connection, received = kind(self.host, self.port, timeout=self.timeout), False
        try:
            connection.connect()
            received = True  # from here on the service may have acted on the message
            connection.request(message.method, message.target, message.body, dict(message.headers))
            response = connection.getresponse()
            if response.status >= 400:
                _raise_problem(response, message)
            yield response
        except (OSError, HTTPException) as error:
            text = f"the service at {self.host} does not answer: {error}"
            failure = Unavailable("UNREACHABLE", text, hint="check the URL and that the service is running")
            if received and not message.repeatable:
                raise failure from None
            raise _Repeat(failure) from None
        finally:
            connection.close()


class _Repeat(Exception):
    """A message that failed and can be sent again, after `delay` seconds if the service asks for them."""

    def __init__(self, error: KronError, delay: float = 0.0) -> None:
        self.error, self.delay = error, delay


def _raise_problem(response: HTTPResponse, message: Message) -> None:
    error = _error(response.status, _json_object(response.read(), response.status))
    if response.status == 429 or (response.status == 503 and message.repeatable):
        wait = response.headers.get("Retry-After", "")
        raise _Repeat(error, min(MAX_DELAY_SECONDS, float(wait)) if wait.isascii() and wait.isdigit() else 0.0)
    raise error


def _json_object(body: bytes, status: int = 200) -> Json:
    try:
        content = json.loads(body) if body else {}
    except ValueError:
        content = {"detail": f"HTTP status {status} with a body that is not valid JSON"}
    return content if isinstance(content, dict) else {}


def _error(status: int, content: Json) -> KronError:
    code, hint = str(content.get("code", "HTTP")), str(content.get("hint", ""))
    detail = str(content.get("detail", content.get("title", status)))
    if "span" in content:
        start, end = content["span"]
        place = Place(content["text"], start, end, content.get("field", ""))
        details = {"read_by": content["read_by"]} if "read_by" in content else None
        return LanguageError(code, detail, place, hint=hint, details=details)
    return error_of(code, detail, hint=hint, details={"status": status})
