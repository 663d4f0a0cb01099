"""Limit on open files. A worker needs one file for each launch in progress."""

from __future__ import annotations

from contextlib import suppress

OPEN_FILES_NEEDED = 4_096  # exceeds the launches in progress and the store connections of a worker


def allow_more(needed: int = OPEN_FILES_NEEDED) -> None:
    """Raise this process's limit on open files as far as allowed. Service managers start processes with 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    new_limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < new_limit:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))
