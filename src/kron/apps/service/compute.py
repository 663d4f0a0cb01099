"""Responses whose content is computed in a thread, outside of the event loop."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel
from starlette.responses import Response

from kron.apps.compute import SEARCH_SECONDS, compute, time_limit, upcoming_within_time

__all__ = ["SEARCH_SECONDS", "compute", "json_response", "time_limit", "upcoming_within_time"]


async def json_response(make: Callable[[], BaseModel]) -> Response:
    """Return a response that is built and serialized in a thread, because a page of 1,000 entries takes a while."""
    text = await compute(lambda: make().model_dump_json())
    return Response(text, media_type="application/json")
