"""Runs the command line in this process, and as a real command where a terminal or a pipe matters."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kron.apps.cli import main

PAST = "2026-02-28T12:00:00Z"


@dataclass
class Result:
    status: int
    out: str
    err: str


@pytest.fixture
def kron(capsys, monkeypatch):
    """`kron("next", "0 9 * * *")` -> status, stdout, stderr."""

    def run(*words: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            status = main(list(words))
        except SystemExit as stop:
            status = stop.code
        streams = capsys.readouterr()
        return Result(status, streams.out, streams.err)

    return run


@pytest.fixture
def krontab(tmp_path):
    """Writes a krontab file."""

    def write(text: str) -> Path:
        path = tmp_path / "krontab"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def command(*words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command, in a process of its own."""
    program = Path(sys.executable).with_name("kron")
    return subprocess.run(
        [str(program), *words],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )
