"""Dead letter groups: dead letters of one host that were due at about the same time are probably one problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from kron.rules.run import Run

MAX_DISTANCE_MS = 3_600_000  # between one dead letter of a group and the next


class DeadLetterGroup(NamedTuple):
    """Dead letters that follow each other in the list, latest first."""

    host: str
    runs: tuple[Run, ...]

    @property
    def first(self) -> int:
        """When the earliest one was due, in milliseconds."""
        return min(run.due for run in self.runs)

    @property
    def last(self) -> int:
        """When the latest one was due, in milliseconds."""
        return max(run.due for run in self.runs)


def dead_letter_groups(runs: Sequence[Run], host_of: Callable[[Run], str]) -> list[DeadLetterGroup]:
    """Return the dead letters of a page in groups, in the same order."""
    groups = list[DeadLetterGroup]()
    for run in runs:
        host, group = host_of(run), groups[-1] if groups else None
        is_near = group is not None and group.host == host and abs(group.runs[-1].due - run.due) <= MAX_DISTANCE_MS
        if group is not None and is_near:
            groups[-1] = DeadLetterGroup(host, (*group.runs, run))
        else:
            groups.append(DeadLetterGroup(host, (run,)))
    return groups


def host_of_target(target: str) -> str:
    """Return the host of a target; the target itself if it has none."""
    try:
        return urlsplit(target).hostname or target
    except ValueError:
        return target
