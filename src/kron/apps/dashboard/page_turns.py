"""Page turns: when open pages may load themselves again, one after another and in the quiet half of a second.

Many pages learn of the same change at the same moment. Without turns, they would load themselves at the same moment
ever after, and delay the runs that are due then.
"""

from __future__ import annotations

from kron.engine.clock import seconds_to_quiet

MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 0.5, 30.0  # between two messages to one page
SECONDS_PER_PAGE = 1.0  # between two messages to one page, for each other page: a page loads itself after a message
FEW_PAGES = 2  # so many do not wait for the quiet half of a second


class PageTurns:
    """Gives the open pages of a process their turns."""

    def __init__(self) -> None:
        self.last = 0.0

    def rest(self, pages: int, now: float) -> float:
        """Return how many seconds a page that was told of a change waits until it can be told of the next one.

        It is the interval of `message_interval`, or up to `longest_rest`, so that no two turns coincide.

        Args:
            pages: How many pages are open.
            now: Current time in seconds since 1970-01-01 UTC.
        """
        interval = message_interval(pages)
        self.last = min(max(now + interval, self.last + interval / pages), now + longest_rest(pages))
        return self.last - now


def message_delay(pages: int, now: float) -> float:
    """Return the seconds until pages can be told of a change. If many are open, they wait until fewer runs are due."""
    return seconds_to_quiet(now) if pages > FEW_PAGES else 0.0


def message_interval(pages: int) -> float:
    """Return the seconds between two messages to one page, if so many pages are open.

    Up to 30 pages together load themselves once or twice a second, so that viewers take little time from runs. If more
    are open, each does so every MAX_INTERVAL_SECONDS.
    """
    return min(MAX_INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, (pages - 1) * SECONDS_PER_PAGE))


def longest_rest(pages: int) -> float:
    """Return the maximum number of seconds between two messages to one page, if changes never end."""
    return 2 * message_interval(pages)
