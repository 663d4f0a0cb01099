"""Failed requests to the Kubernetes API: the server refused the request, or it did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_FOUND = 404
BUSY = frozenset({429, 503})  # the server may accept the same request later


class Refusal(Exception):
    """The API server refused a request.

    Attributes:
        status: HTTP status.
        reason: Reason of the server's `Status` object, such as `AlreadyExists`; empty if there is none.
        message: The server's message.
        causes: Types of the causes in the `Status` object, such as `NamespaceTerminating`.
        retry_after: Seconds that the server asks clients to wait; 0 if it does not ask.
    """

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float = 0.0) -> None:
        self.status, self.reason = status, str(body.get("reason") or "")
        self.message = str(body.get("message") or "")
        details = body.get("details")
        found = details.get("causes") if isinstance(details, Mapping) else None
        causes = found if isinstance(found, list) else []
        self.causes = frozenset(str(each.get("reason") or "") for each in causes if isinstance(each, Mapping))
        self.retry_after = retry_after
        super().__init__(f"{status} {self.reason}: {self.message}")

    @property
    def may_have_arrived(self) -> bool:
        """Whether the request can have had an effect: the server failed while it worked on the request."""
        return self.status >= 500 and self.status not in BUSY


class NoAnswer(Exception):
    """The API server did not answer. If `may_have_arrived` is False, the request certainly had no effect."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived
