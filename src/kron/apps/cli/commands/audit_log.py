"""`kron audit-log verify`: verify that an audit log is intact, or show its first broken line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from kron.apps.cli.console import Screen
from kron.apps.service.auth.chain import FIRST_HASH, Verdict, verify
from kron.errors import NotFound


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Verify the hash chain of the files, in order. Return 1 if a line does not follow from the line before."""
    sizes: list[tuple[str, int]] = []
    verdict = verify(_lines(args.files, sizes), args.after or FIRST_HASH)
    path, number = _place(verdict, sizes)
    if args.output == "json":
        place = {"file": path, "line": number, "reason": verdict.reason} if verdict.broken else None
        screen.json({"lines": verdict.lines, "last": verdict.last, "broken": place})
    elif verdict.broken:
        screen.line(f"{path}:{number}: {verdict.reason}; {_count_text(verdict.lines)} before it are intact")
    else:
        screen.line(f"ok: {_count_text(verdict.lines)}, hash of the last line {verdict.last}")
    return int(verdict.broken is not None)


def _lines(paths: list[str], sizes: list[tuple[str, int]]) -> Iterator[str]:
    """Yield the lines of all files; `sizes` receives the number of lines read from each."""
    for path in paths:
        sizes.append((path, 0))
        try:
            with Path(path).open(encoding="utf-8", newline="\n", errors="surrogateescape") as file:
                for line in file:
                    sizes[-1] = (path, sizes[-1][1] + 1)
                    yield line
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise NotFound("NOT_FOUND", message, hint="use the file that the setting AUDIT_LOG names") from None


def _place(verdict: Verdict, sizes: list[tuple[str, int]]) -> tuple[str, int]:
    """Return the file and line of the break, which is the last line read."""
    return sizes[-1] if verdict.broken else ("", 0)


def _count_text(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"
