"""Clock of the API server, as the date of an answer tells. It has whole seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from time import monotonic, time

from kron.kube.api import Api, no_answer_errors

_PATH = "/version"  # which every user may read
DATE_ERROR_SECONDS = 0.5  # a second is cut off: the middle of that second is at most this far from the time


async def server_clock(api: Api) -> Callable[[], float]:
    """Return a clock with the time of the API server, in seconds since the epoch.

    Raises:
        NoAnswer: The API server does not answer.
    """
    async with no_answer_errors():
        response = await api.http.get(_PATH)
    told = told_time(response.headers)
    ahead = (time() if told is None else told) - monotonic()
    return lambda: monotonic() + ahead


def told_time(headers: Mapping[str, str]) -> float | None:
    """Return the time that an answer tells, in seconds since 1970; None if it tells none."""
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp() + DATE_ERROR_SECONDS
    except (KeyError, ValueError):
        return None
