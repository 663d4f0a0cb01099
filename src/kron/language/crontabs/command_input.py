"""Percent signs of crontab lines: the command before the first one, and its standard input after it."""

from __future__ import annotations

import re

_PERCENT = re.compile(r"\\?%")
DEFAULT_SHELL = "/bin/sh"
_QUOTED = r"""[^']*+(?:'"'"'[^']*+)*"""  # inside of a word, as `_shell_word` writes it
_WITH_INPUT = re.compile(rf"""printf '%s\\n'(?: '{_QUOTED}')* \| '{_QUOTED}' -c '({_QUOTED})'""")


def split_input(text: str) -> tuple[str, str]:
    r"""Return the command of a crontab line, and the text of its standard input.

    The command ends at the first `%` that no backslash escapes. In the input, each further `%` is a line feed, and cron
    adds a line feed at the end. `\%` is `%` in both; any other backslash stays.
    """
    command, position = list[str](), 0
    while position < len(text) and text[position] != "%":
        size = 2 if text[position] == "\\" else 1  # a backslash and the character that it escapes
        piece = text[position : position + size]
        command.append("%" if piece == "\\%" else piece)
        position += size
    return "".join(command), _read_input(text[position + 1 :])


def _read_input(text: str) -> str:
    lines = _PERCENT.sub(lambda match: "\n" if match[0] == "%" else "%", text)
    return lines if not lines or lines.endswith("\n") else f"{lines}\n"


def with_input(command: str, text: str, shell: str | None) -> str:
    """Return a command line for /bin/sh that gives a text to a command as its standard input.

    The command is an argument of a shell of its own, so any command keeps its meaning, also one with a comment.

    Args:
        command: Command line.
        text: Standard input. It ends with a line feed.
        shell: Shell that runs the command; None for /bin/sh.
    """
    lines = " ".join(map(_shell_word, text.removesuffix("\n").split("\n")))
    return f"printf '%s\\n' {lines} | {_shell_word(shell or DEFAULT_SHELL)} -c {_shell_word(command)}"


def _shell_word(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def without_input(line: str) -> str:
    """Return the command of a command line that `with_input` has written; any other command line as it is."""
    match = _WITH_INPUT.fullmatch(line)
    return match[1].replace("'\"'\"'", "'") if match else line
