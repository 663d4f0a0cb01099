"""`krontab`: the command line. Commands that it does not have are those of `kron`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from kron.apps.cli import main as kron_main
from kron.apps.cli import run_command
from kron.apps.krontab.parser import COMMAND_NAMES, PLACE_OPTIONS, parser
from kron.apps.krontab.remote import run_here_or_there

_SHORT = {"-l": "list", "-e": "edit", "-r": "remove"}
_INPUT_OPTIONS = ("-f", "--file", "--identity", "--dialect", "--timezone", "--store")  # of the same command of `kron`


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status, as `kron` does."""
    words = sys.argv[1:] if argv is None else argv
    arguments = arguments_of(words)
    return kron_main(words) if arguments is None else run_command(parser(), arguments, run_here_or_there)


def arguments_of(words: Sequence[str]) -> list[str] | None:
    """Return the arguments for the parser; None if the command is one of `kron`.

    `-l`, `-e` and `-r` are the commands `list`, `edit` and `remove`. A word that is not a command is a file to install.
    """
    start = _end_of_options(words)
    options, rest = list(words[:start]), list(words[start:])
    if not rest or rest[0] in ("-h", "--help"):
        return [*rest, *options]
    command = _SHORT.get(rest[0], rest[0])
    if command in COMMAND_NAMES:
        return None if _is_for_kron(rest) else [command, *rest[1:], *options]
    if command == "--version" or command in kron_commands():
        return None
    return ["install", *rest, *options]


def kron_commands() -> frozenset[str]:
    """Return the names of the commands of `kron`."""
    from kron.apps.cli.parser import parser as kron_parser

    names = [action.choices for action in kron_parser()._actions if isinstance(action.choices, Mapping)]
    return frozenset().union(*names)


def _end_of_options(words: Sequence[str]) -> int:
    """Return how many words before the command are options that say which daemon is meant."""
    position = 0
    while position < len(words) and words[position].partition("=")[0] in PLACE_OPTIONS:
        position += 1 + (PLACE_OPTIONS[words[position].partition("=")[0]] and "=" not in words[position])
    return min(position, len(words))


def _is_for_kron(words: Sequence[str]) -> bool:
    """Return whether a command that both programs have is about a schedule, a file or a store, and not about a job."""
    if words[0] not in ("next", "why", "pause", "resume"):
        return False
    has_input = any(word.partition("=")[0] in _INPUT_OPTIONS for word in words)
    return has_input or (words[0] == "next" and len(words) > 1 and len(words[1].split()) > 1)
