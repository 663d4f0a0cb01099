"""Clock of the API server, as the date of an answer tells. It has whole seconds."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from time import monotonic, time

from kron.kube.api import Api, no_answer_errors

_PATH = "/version"  # which every user may read
_HALF = 0.5  # a second is cut off, so the time is half a second later on average


async def server_clock(api: Api) -> Callable[[], float]:
    """Return a clock with the time of the API server, in seconds since the epoch.

    Raises:
        NoAnswer: The API server does not answer.
    """
    async with no_answer_errors():
        response = await api.http.get(_PATH)
    try:
        seconds = parsedate_to_datetime(response.headers["Date"]).timestamp() + _HALF
    except (KeyError, ValueError):
        seconds = time()
    ahead = seconds - monotonic()
    return lambda: monotonic() + ahead
