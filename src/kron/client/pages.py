"""Pages: lists of the HTTP API as iterators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kron.client.transport import Transport

PAGE = 100  # entries per request, by default


def paged(
    transport: Transport, path: str, field: str, query: Mapping[str, Any], *, page: int = PAGE, limit: int | None = None
) -> Iterator[Any]:
    """Yield the entries of a list, with one request per page.

    Args:
        transport: Transport of the service.
        path: Path of the list.
        field: Field of the response that has the entries.
        query: Parameters of each request.
        page: Entries per request.
        limit: Entries in total; None for all.
    """
    token: str | None = ""
    while token is not None and (limit is None or limit > 0):
        size = page if limit is None else min(page, limit)
        response = transport.request("GET", path, query={**query, "limit": size, "page_token": token})
        yield from response[field]
        token = response["next_page_token"]
        limit = None if limit is None else limit - len(response[field])
