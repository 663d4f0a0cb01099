"""Names of imported jobs. They depend on the user and the command only, so they stay when lines are moved."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

_SEPARATOR = re.compile(r"&&|\|\||[;|&()]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\S*")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_KEYWORDS = frozenset({"!", "{", "exec", "if", "then", "time", "while"})
_PREPARATIONS = frozenset({"[", "[[", "cd", "command", "export", "set", "sleep", "source", "test", "umask", ".", "fi"})
_MAX_USER, _MAX_PROGRAM = 32, 64  # characters


def base_name(user: str, command: str) -> str:
    """Return the name of a job: its user, the name of its program, and 8 digits of a hash of user and command."""
    digits = sha256(f"{user}\n{command}".encode()).hexdigest()[:8]
    return f"{_safe(user, _MAX_USER) or 'user'}-{_safe(_program(command), _MAX_PROGRAM) or 'job'}-{digits}"


def unique_names(jobs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a unique name for each job. Jobs of one base name are numbered in the order of their schedules.

    Args:
        jobs: Base name and schedule text of each job.
    """
    groups = defaultdict[str, list[int]](list)
    for index, (name, _) in enumerate(jobs):
        groups[name].append(index)
    names = [name for name, _ in jobs]
    for indices in groups.values():
        ordered = sorted(indices, key=lambda index: jobs[index][1])
        for number, index in enumerate(ordered[1:], 2):
            names[index] = f"{jobs[index][0]}-{number}"
    return names


def _program(command: str) -> str:
    """Return the file name of the program that a command line is about, without `cd`, tests and assignments."""
    candidates = (_first_word(segment) for segment in _SEPARATOR.split(command))
    words = [word for word in candidates if word]
    program = next((word for word in words if word not in _PREPARATIONS), words[0] if words else "")
    return program.rstrip("/").rpartition("/")[2]


def _first_word(segment: str) -> str:
    words = (word.strip("\"'") for word in segment.split())
    return next((word for word in words if word not in _KEYWORDS and not _ASSIGNMENT.fullmatch(word)), "")


def _safe(text: str, limit: int) -> str:
    return _UNSAFE.sub("_", text)[:limit].strip("._-")
