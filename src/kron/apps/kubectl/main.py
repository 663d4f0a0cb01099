"""`kubectl-kron`: the command line. kubectl runs it as `kubectl kron`."""

from __future__ import annotations

from kron.apps.cli import run_command
from kron.apps.kubectl.parser import parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status, as `kron` does."""
    return run_command(parser(), argv)
