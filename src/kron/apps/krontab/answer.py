"""Answer: a command of `krontab` that a daemon runs for the user who asks through its control socket.

The daemon runs the code that `krontab` runs itself, with its own place. So an answer is what `krontab` prints.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from typing import NoReturn

from kron.apps.cli.console import Screen
from kron.apps.host.place import Place
from kron.apps.host.wire import MAX_ANSWER_CHARACTERS, Request
from kron.apps.krontab.commands.log import steps as log_steps
from kron.apps.krontab.parser import LOCAL_OPTIONS, parser
from kron.errors import InvalidInput, KronError, UsageError, error_of

COMMANDS = frozenset(("list", "install", "remove", "status", "next", "why", "history", "run", "pause", "resume", "log"))
MAX_RUNS = 1_000  # that one request can ask for
MAX_UPCOMING = 100  # upcoming runs: they are computed for each job
log = logging.getLogger("kron.apps.krontab")


class Answer:
    """What a command has printed for a request, and its exit status. None: it prints more at the next step."""

    def __init__(self, request: Request, content: bytes | None) -> None:
        """Read the command line of a request.

        Raises:
            KronError: The command line is wrong.
        """
        self.out, self.err = _BoundedText(), _BoundedText()
        self.screen, self.status = _AnswerScreen(self.out, self.err), 0
        self.args = _arguments(request)
        self.args.content = content

    @property
    def owner(self) -> str:
        """User whose table the request means; empty for all tables that the asker can see."""
        return self.args.owner or ""

    def run(self, place: Place, asker: str) -> Iterator[None]:
        """Run the command in a place for a user. Take each step in a thread: it can block."""
        self.args.place, self.args.asker = place, asker
        try:
            if self.args.command == "log":
                yield from log_steps(self.args, self.screen)
            else:
                module = import_module(f"kron.apps.krontab.commands.{self.args.command}")
                self.status = int(module.run(self.args, self.screen))
        except KronError as error:
            self.refuse(error)
        except Exception:
            log.exception("krontab %s failed for %s", self.args.command, asker)
            self.refuse(error_of("INTERNAL", "the command failed in krond", hint="the log of krond has the details"))

    def refuse(self, error: KronError) -> None:
        """Answer with an error. What was printed before is left out."""
        self.out.clear()
        self.screen.error(error)
        self.status = 2 if isinstance(error, UsageError) else 1

    def take(self) -> tuple[str, str]:
        """Return what was printed on the two streams since the last call."""
        return self.out.clear(), self.err.clear()


class _BoundedText(StringIO):
    """Stream that keeps a bounded text."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > MAX_ANSWER_CHARACTERS:
            message = f"the answer has more than {MAX_ANSWER_CHARACTERS:,} characters"
            raise InvalidInput("TOO_LARGE", message, hint="ask for fewer runs with -n or --limit")
        return super().write(text)

    def clear(self) -> str:
        """Empty the stream, and return the text that it had."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


class _AnswerScreen(Screen):
    """Screen that also keeps the errors it prints."""

    def __init__(self, out: StringIO, err: StringIO) -> None:
        super().__init__(out, err)
        self.errors: list[KronError] = []

    def error(self, error: KronError) -> None:
        self.errors.append(error)
        super().error(error)


class _Parser(argparse.ArgumentParser):
    """Parser that raises its errors: it neither prints nor exits."""

    def error(self, message: str) -> NoReturn:
        raise UsageError("USAGE", message, hint=self.format_usage().strip())

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError("USAGE", message or "krond prints no help", hint="run krontab --help")

    def print_help(self, file: object = None) -> None:
        """Print nothing: `exit` follows."""


def _arguments(request: Request) -> argparse.Namespace:
    """Return the arguments of a request, as the command line of `krontab` has them.

    Raises:
        KronError: The command does not exist or is not for the socket, or an argument is wrong.
    """
    if request.command not in COMMANDS:
        hint = f"use one of {', '.join(sorted(COMMANDS))}, reload"
        raise InvalidInput("BAD_FIELD", f"the socket has no command {request.command[:50]!r}", hint=hint)
    args = parser(_Parser).parse_args([request.command, *request.arguments])
    local_options = [f"--{name}" for name in LOCAL_OPTIONS if getattr(args, name, None)]
    if local_options:
        message = f"{local_options[0]} is not for a request: the socket belongs to one krond"
        raise InvalidInput("BAD_FIELD", message, hint=f"remove {local_options[0]}")
    max_runs = MAX_UPCOMING if request.command in ("next", "status") else MAX_RUNS
    if max(getattr(args, "count", 0), getattr(args, "limit", 0)) > max_runs:
        message = f"a request can ask for at most {max_runs:,} runs"
        raise InvalidInput("TOO_LARGE", message, hint=f"use -n or --limit with at most {max_runs}")
    if request.command == "install" and request.size is None:
        hint = "send the table after the line, and its size as bytes"
        raise InvalidInput("BAD_FIELD", "the request has no table", hint=hint)
    if request.command == "remove":
        args.yes = True  # who asks has answered the question
    return args
