"""Transport: sends requests to one service, and raises its error responses with the service's error code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from kron.client.results import Json
from kron.errors import LanguageError, Place, Unavailable, UsageError, error_of


class Transport:
    """Connection settings of one service. Threads can share a transport: each request opens its own connection.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
    """

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("USAGE", f"invalid service URL {url!r}", hint="use a URL such as https://kron.example.org")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.path, self.timeout, self._token = parts.path.rstrip("/"), timeout, token

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Send any request to the HTTP API and return the JSON object of the response.

        Fields of `body` that are None are left out.

        Raises:
            LanguageError: The service rejected a schedule text; the error has the position.
            KronError: The service rejected the request; the class is that of the error's code.
            Unavailable: The service does not answer.
        """
        target = self.path + path + (f"?{urlencode(query, doseq=True)}" if query else "")
        text = None if body is None else json.dumps({k: v for k, v in body.items() if v is not None})
        all_headers = {"Accept": "application/json", **(headers or {})}
        all_headers |= {"Content-Type": "application/json"} if text is not None else {}
        all_headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        kind = HTTPSConnection if self.secure else HTTPConnection
        connection = kind(self.host, self.port, timeout=self.timeout)
        try:
            connection.request(method, target, text, all_headers)
            response = connection.getresponse()
            return _read(response.status, response.read())
        except (OSError, HTTPException) as error:
            message = f"the service at {self.host} does not answer: {error}"
            raise Unavailable("UNREACHABLE", message, hint="check the URL and that the service is running") from None
        finally:
            connection.close()


def _read(status: int, body: bytes) -> Json:
    try:
        content = json.loads(body) if body else {}
    except ValueError:
        content = {"detail": f"HTTP status {status} with a body that is not valid JSON"}
    if status < 400:
        return content if isinstance(content, dict) else {}
    code, detail, hint = (
        content.get("code", "HTTP"),
        content.get("detail", content.get("title", str(status))),
        content.get("hint", ""),
    )
    if "span" in content:
        start, end = content["span"]
        place = Place(content["text"], start, end, content.get("field", ""))
        details = {"read_by": content["read_by"]} if "read_by" in content else None
        raise LanguageError(code, detail, place, hint=hint, details=details)
    raise error_of(code, detail, hint=hint, details={"status": status})
