"""Questions to the user of the terminal."""

from __future__ import annotations

import sys

from kron.apps.cli.console import Screen


def confirmed(question: str, screen: Screen, *, default: bool) -> bool:
    """Ask a question and return the answer. An empty answer is the default; the end of the input is a no."""
    screen.err.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
    screen.err.flush()
    answer = sys.stdin.readline(100)
    if not answer.endswith("\n"):
        screen.note("")
    return default if answer == "\n" else answer.strip().casefold() in ("y", "yes")
