"""`kron audit-log verify`: whether an audit log is whole, and where it is not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from kron.apps.cli.screen import Screen
from kron.apps.service.chain import FIRST, Verdict, verify
from kron.errors import KronError


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Check the hash chain of the files, read one after another. 1 if a line does not follow from the line before."""
    sizes: list[tuple[str, int]] = []
    found = verify(_lines(args.files, sizes), args.after or FIRST)
    path, number = _place(found, sizes)
    if args.format == "json":
        place = {"file": path, "line": number, "reason": found.reason} if found.broken else None
        screen.json({"lines": found.lines, "last": found.last, "broken": place})
    elif found.broken:
        screen.line(f"{path}:{number}: {found.reason}; {_counted(found.lines)} before it are whole")
    else:
        screen.line(f"ok: {_counted(found.lines)}, the hash of the last is {found.last}")
    return int(found.broken is not None)


def _lines(paths: list[str], sizes: list[tuple[str, int]]) -> Iterator[str]:
    """The lines of all files; `sizes` says how many each has, as far as it was read."""
    for path in paths:
        sizes.append((path, 0))
        try:
            with Path(path).open(encoding="utf-8", newline="\n", errors="surrogateescape") as file:
                for line in file:
                    sizes[-1] = (path, sizes[-1][1] + 1)
                    yield line
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise KronError("NOT_FOUND", message, hint="give the file that AUDIT_LOG names") from None


def _place(found: Verdict, sizes: list[tuple[str, int]]) -> tuple[str, int]:
    """The file and the line of the break; it is the last line that was read."""
    return sizes[-1] if found.broken else ("", 0)


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"
