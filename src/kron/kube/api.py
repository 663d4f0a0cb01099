"""Requests to the Kubernetes API. Objects are dicts and pass unchanged, so that newer fields of a template survive.

A request is sent once. A failure says whether the request can have had an effect, and how long the server asks clients
to wait.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple

from httpx2 import AsyncClient, ConnectError, ConnectTimeout, HTTPError, InvalidURL, PoolTimeout, Response, Timeout

from kron.kube.failure import NOT_FOUND, NoAnswer, Refusal
from kron.kube.kind import Body, Kind, Place

PAGE_SIZE = 500  # objects
END_SECONDS = 30.0  # after its time, in which a watch must end. Until then it is silent if nothing changes
LIST_SECONDS = 60.0  # until a page comes: a busy server that is asked again begins again
MAX_RETRY_AFTER_SECONDS = 60.0
_UNSENT = (ConnectError, ConnectTimeout, PoolTimeout)  # no connection existed, so nothing was sent
_JSON, _MERGE_PATCH = "application/json", "application/merge-patch+json"


class Page(NamedTuple):
    """Part of a list. All pages of a list have the same version."""

    items: list[Body]
    version: str


class WatchEvent(NamedTuple):
    """Change of an object: `ADDED`, `MODIFIED`, `DELETED`, or `BOOKMARK`, whose object has only a version."""

    type: str
    body: Body


class Api:
    """Client of one API server. `http` has the server's address, its certificate and the credentials."""

    def __init__(self, http: AsyncClient) -> None:
        self.http = http
        self._list_timeout = Timeout(http.timeout.connect, read=LIST_SECONDS)
        self._server = str(http.base_url).rstrip("/")  # whole addresses: httpx2 joins parts of one in 70 µs

    async def get(self, kind: Kind, place: Place) -> Body | None:
        """Return an object as the API server's database has it; None if it does not exist."""
        try:
            return await self._request("GET", kind.path(*place))
        except Refusal as refusal:
            if refusal.status == NOT_FOUND:
                return None
            raise

    async def pages(
        self, kind: Kind, namespace: str = "", *, selector: str = "", not_older_than: str = ""
    ) -> AsyncGenerator[Page, None]:
        """Yield all objects of a kind, page by page.

        Args:
            kind: Kind of the objects.
            namespace: Namespace; empty for all.
            selector: Label selector.
            not_older_than: Version that the list must have reached. The server can then answer from its cache. Without
                it, the server reads its database.
        """
        parameters = {"limit": str(PAGE_SIZE), "labelSelector": selector}
        if not_older_than:
            parameters |= {"resourceVersion": not_older_than, "resourceVersionMatch": "NotOlderThan"}
        while True:
            body = await self._request("GET", kind.path(namespace), parameters)
            metadata = body.get("metadata") or {}
            yield Page(body.get("items") or [], str(metadata.get("resourceVersion") or ""))
            if not metadata.get("continue"):
                return
            parameters = {
                "limit": str(PAGE_SIZE),
                "labelSelector": selector,
                "continue": metadata["continue"],
            }

    async def check_version(self, kind: Kind, namespace: str, version: str) -> None:
        """Check that the database of the API server has reached a version. One that was restored may not have.

        Raises:
            Refusal: It has not.
        """
        parameters = {"limit": "1", "resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        await self._request("GET", kind.path(namespace), parameters)

    async def watch(
        self, kind: Kind, namespace: str = "", *, version: str, seconds: int, selector: str = ""
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield the changes after a version, until the server ends the watch after about `seconds`.

        Raises:
            Refusal: The server refuses the watch or ends it with an error, such as 410 for a version that is too old.
            NoAnswer: The line was cut, or the server did not end the watch.
        """
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
            "labelSelector": selector,
        }
        timeout = Timeout(self.http.timeout.connect, read=seconds + END_SECONDS)
        async with (
            no_answer_errors(),
            self.http.stream("GET", kind.path(namespace), params=_set(parameters), timeout=timeout) as response,
        ):
            if not response.is_success:
                await response.aread()
                raise _refusal_of(response)
            async with aclosing(_lines(response)) as lines:
                async for line in lines:
                    yield _event_of(line)

    async def create(self, kind: Kind, namespace: str, body: Body, *, dry_run: bool = False) -> Body:
        """Create an object and return it as the server has it. A dry run only checks the object."""
        parameters = {"dryRun": "All"} if dry_run else {}
        return await self._request("POST", kind.path(namespace), parameters, body)

    async def patch(self, kind: Kind, place: Place, patch: Body) -> Body:
        """Merge a patch into an object. None in the patch removes a field."""
        return await self._request("PATCH", kind.path(*place), {}, patch, content_type=_MERGE_PATCH)

    async def patch_status(self, kind: Kind, place: Place, patch: Body) -> Body:
        """Merge a patch into the status subresource of an object. None in the patch removes a field."""
        path = kind.path(*place, "status")
        return await self._request("PATCH", path, {}, {"status": patch}, content_type=_MERGE_PATCH)

    async def delete(
        self, kind: Kind, place: Place, *, uid: str = "", propagation: str = "Background", version: str = ""
    ) -> bool:
        """Delete an object; return False if it does not exist.

        Args:
            kind: Kind of the object.
            place: Namespace and name.
            uid: Unique identifier that the object must have: another object of that name is left alone (409).
            propagation: `Background` or `Foreground`: whether the object goes before its pods or after them.
            version: Version that the object must have.
        """
        conditions = {"uid": uid, "resourceVersion": version}
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": _set(conditions),
        }
        try:
            await self._request("DELETE", kind.path(*place), {}, body)
        except Refusal as refusal:
            if refusal.status == NOT_FOUND:
                return False
            raise
        return True

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    async def _request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        body: Body | None = None,
        *,
        content_type: str = _JSON,
    ) -> Body:
        content = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = {"Accept": _JSON, **({} if content is None else {"Content-Type": content_type})}
        async with no_answer_errors():
            response = await self.http.request(
                method,
                f"{self._server}{path}",
                params=_set(parameters or {}) or None,
                content=content,
                headers=headers,
                timeout=self._list_timeout if parameters and "limit" in parameters else self.http.timeout,
            )
        if not response.is_success:
            raise _refusal_of(response)
        answer = _object_of(response.content)
        if answer is None:  # the server accepted the request, but the answer is not that of a Kubernetes API
            raise NoAnswer("the answer is not a JSON object", may_have_arrived=True)
        return answer


@asynccontextmanager
async def no_answer_errors() -> AsyncIterator[None]:
    """Turn the errors of the HTTP client into `NoAnswer`."""
    try:
        yield
    except _UNSENT as error:
        raise NoAnswer(_text_of(error), may_have_arrived=False) from error
    except (HTTPError, InvalidURL) as error:
        raise NoAnswer(_text_of(error), may_have_arrived=True) from error


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _set(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters that are not empty."""
    return {name: value for name, value in parameters.items() if value}


def _refusal_of(response: Response) -> Refusal:
    status = _object_of(response.content) or {"message": response.text[:200]}
    return Refusal(response.status_code, status, _seconds_of(response.headers.get("Retry-After", "")))


def _seconds_of(header: str) -> float:
    """Return the seconds of a Retry-After header. The API server sends seconds, never a date."""
    is_number = header.isascii() and header.isdigit()
    return min(float(header), MAX_RETRY_AFTER_SECONDS) if is_number else 0.0


def _object_of(content: bytes) -> Body | None:
    try:
        value: Any = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


async def _lines(response: Response) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a response. Only a line feed ends one: other separators can be part of a JSON text."""
    rest = b""
    async for part in response.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


def _event_of(line: bytes) -> WatchEvent:
    """Return the change that a line of a watch describes. An incomplete line means that the connection was cut."""
    event = _object_of(line)
    body = event.get("object") if event else None
    if event is None or not isinstance(body, dict):
        raise NoAnswer("the watch ended within a line", may_have_arrived=True)
    if event.get("type") == "ERROR":
        raise Refusal(int(body.get("code") or 500), body)
    return WatchEvent(str(event.get("type")), body)
