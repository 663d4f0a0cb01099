"""Wrong uses of the embedded API, and what Kron says to each, word for word.

`tests/golden/embedded.txt` holds cases apart by blank lines: the code, in lines that begin with `| `, then exactly what
`str(error)` prints. To add a case, write its code. To let Kron write what it says now, and to review it as a diff:

    python -m tests.embedded.wrong_uses --write && git diff tests/golden
"""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import kron

FILE = Path(__file__).parents[1] / "golden" / "embedded.txt"


@dataclass(frozen=True)
class WrongUse:
    """Code, and the error that is expected."""

    code: str
    expected: str

    def __str__(self) -> str:
        return self.code.replace("\n", "; ")[:80]

    def error(self) -> Exception | None:
        """The error that the code raises now."""
        names = {**NAMES, "s": kron.Scheduler("memory:")}
        try:
            exec(compile(self.code, "wrong use", "exec"), names)
        except Exception as error:
            return error
        return None


def said(error: Exception | None) -> str:
    """An error as the file has it."""
    return str(error) if isinstance(error, kron.KronError) else f"{type(error).__name__}: {error}"


def read() -> list[WrongUse]:
    """The cases of the file."""
    blocks = FILE.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")
    return [_case(block.split("\n")) for block in blocks]


def _case(lines: list[str]) -> WrongUse:
    code = [line[2:] for line in lines if line.startswith("|")]
    return WrongUse("\n".join(code), "\n".join(lines[len(code) :]))


def _write() -> None:
    blocks = []
    for case in read():
        code = "\n".join(f"| {line}" for line in case.code.split("\n"))
        blocks.append(f"{code}\n{said(case.error())}")
    FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


@contextmanager
def _without(package: str) -> Iterator[None]:
    """Let Python find no package of that name."""
    loaded = [name for name in sys.modules if name.split(".")[0] == package or name.startswith("kron.stores.postgres")]
    with patch.dict(sys.modules):
        for name in loaded:
            del sys.modules[name]
        sys.modules[package] = None  # type: ignore[assignment]
        yield


def _report() -> None: ...


async def _fetch() -> None: ...


def _ticks() -> Iterator[int]:
    yield 1


def _remind(user: int) -> None: ...


for _name, _function in {"report": _report, "fetch": _fetch, "ticks": _ticks, "remind": _remind}.items():
    _function.__name__ = _name

NAMES: dict[str, Any] = {
    **{"kron": kron, "Scheduler": kron.Scheduler, "asyncio": asyncio, "threading": threading, "partial": partial},
    **{"datetime": datetime, "timedelta": timedelta, "without": _without},
    **{"report": _report, "fetch": _fetch, "ticks": _ticks, "remind": _remind},
}

if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    _write()
