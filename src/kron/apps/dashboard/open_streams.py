"""Open streams: how many pages of each person are told of changes. One person cannot take the streams of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from kron.errors import QuotaExceeded

MAX_OF_PERSON = 20  # streams of a person who has signed in, in one process
MAX_OF_ADDRESS = 100  # streams of one client address, without a login


class OpenStreams:
    """Counts the open streams of a process, by person."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def check(self, person: str, limit: int) -> None:
        """Check that a person can open another stream.

        Raises:
            QuotaExceeded: The person has `limit` open streams.
        """
        if self.counts[person] >= limit:
            message = f"{self.counts[person]} pages of yours are open"
            raise QuotaExceeded("QUOTA", message, hint="close a page; until then, this page asks for changes")

    @contextmanager
    def opened(self, person: str) -> Iterator[None]:
        """Count a stream of a person while it is open."""
        self.counts[person] += 1
        try:
            yield
        finally:
            self.counts[person] -= 1
            if not self.counts[person]:
                del self.counts[person]
