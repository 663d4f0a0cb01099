"""Messages of cron in the system log, such as `CRON[812]: (root) CMD (/usr/local/bin/backup)`."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

_COMMAND = re.compile(r"\(([^()]*)\) CMD \((?:\[[0-9]+\] )?(.*)\)", re.DOTALL)  # with `cron -L 8`, a process id first
_CUT = re.compile(r"\([^()]*\) CMD \(")
_STARTUP = re.compile(r"\(CRON\) (STARTUP|INFO \((pidfile fd|Running @reboot|Skipping @reboot))")
_DELETE = 0x7F


class MessageKind(Enum):
    """What a message of cron says."""

    COMMAND = auto()  # cron has started a command
    STARTUP = auto()  # cron itself has started
    CUT = auto()  # cron has started a command, and the message has lost its end
    OTHER = auto()


class CronMessage(NamedTuple):
    """Message of cron. A command has its user and its text, as cron writes it."""

    kind: MessageKind
    user: str = ""
    command: str = ""


def read_message(text: str) -> CronMessage:
    """Return what a message of cron says. `text` is the part of the log line after the name of the program."""
    text = text.rstrip("\n")
    match = _COMMAND.fullmatch(text)
    if match:
        return CronMessage(MessageKind.COMMAND, match[1], match[2])
    if _CUT.match(text):
        return CronMessage(MessageKind.CUT)
    return CronMessage(MessageKind.STARTUP if _STARTUP.match(text) else MessageKind.OTHER)


def is_cron(program: str) -> bool:
    """Return whether the program of a log line is cron: `CRON` and `cron` of Debian, `CROND` and `crond` of others."""
    return program.rpartition("/")[2].lower() in ("cron", "crond")


def logged_command(command: str) -> str:
    """Return a command as cron writes it in the log: control characters as `^X`, bytes above 126 in octal digits.

    cron logs the part of a line before its first `%`, which is what the command of an imported job is.
    """
    return "".join(map(_logged_byte, command.encode("utf-8", "surrogateescape")))


def _logged_byte(byte: int) -> str:
    if byte < 0x20:
        return f"^{chr(byte + 0x40)}"
    if byte == _DELETE:
        return "^?"
    return chr(byte) if byte < _DELETE else f"\\{byte:03o}"
