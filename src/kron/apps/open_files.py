"""Open files: how many a process may have. A worker needs one for each launch that is on its way."""

from __future__ import annotations

from contextlib import suppress

ENOUGH = 4_096  # files: more than a worker has launches on their way, and connections to its store


def allow_more(enough: int = ENOUGH) -> None:
    """Raise the limit of this process, as far as it may. Service managers start processes with 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
