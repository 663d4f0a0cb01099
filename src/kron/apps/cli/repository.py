"""Repository of a file, and the identifier that its sentences are scattered by."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from kron.errors import InvalidInput, UsageError
from kron.language.sentences.scatter import workflow_identifier

_SLUG = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_REMOTE = re.compile(r"(?:[a-z+]+://[^/]+/|[^/:]+:)?/?(?:.*/)?([^/:]+/[^/]+?)(?:\.git)?/?")
_HINT = "add --repo OWNER/NAME; Kron never guesses it, because the times of all sentences depend on it"


def identifier(path: Path, repository: str | None) -> str:
    """Return `owner/repo/path` of a file, with the repository from `--repo` or else from the git remote `origin`.

    Raises:
        InvalidInput: Neither names a repository, or the file is outside of the working tree.
        UsageError: The given repository is not `OWNER/NAME`.
    """
    folder = path.absolute().parent.resolve()
    root = _root(folder)
    slug = checked(repository) if repository else _origin(folder)
    file = folder / path.name
    if not file.is_relative_to(root):
        raise InvalidInput("OUTSIDE", f"{path} is outside of {root}", hint="run kron at the root of the repository")
    return workflow_identifier(slug, file.relative_to(root).as_posix())


def checked(repository: str) -> str:
    """Return the repository if it has the form owner/name."""
    if not _SLUG.fullmatch(repository):
        raise UsageError("USAGE", f"{repository[:60]!r} is not a repository", hint="use OWNER/NAME")
    return repository


def slug(remote: str) -> str | None:
    """Return owner/name from the address of a git remote (the last two parts of its path); None if it has none."""
    match = _REMOTE.fullmatch(remote.strip())
    return match[1] if match and _SLUG.fullmatch(match[1]) else None


@lru_cache
def _root(folder: Path) -> Path:
    """Return the root of the working tree, or the current directory outside of any working tree."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    return Path(top) if top else Path.cwd().resolve()


@lru_cache
def _origin(folder: Path) -> str:
    remote = _git(folder, "remote", "get-url", "origin")
    if not remote:
        raise InvalidInput("NO_REPOSITORY", f"{folder} has no git remote named origin", hint=_HINT)
    repository = slug(remote)
    if not repository:
        raise InvalidInput("NO_REPOSITORY", f"the git remote {remote[:60]!r} does not end in owner/name", hint=_HINT)
    return repository


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of git; empty if git is missing, fails or times out."""
    program = shutil.which("git")
    if not program:
        return ""
    try:
        result = subprocess.run(  # noqa: S603  fixed words, no shell
            [program, "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
