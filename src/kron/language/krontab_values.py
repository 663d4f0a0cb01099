"""Values of krontab keys: names, paths, masks, durations and environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kron.errors import clip
from kron.language.duration import read_duration
from kron.language.fault import Fault
from kron.language.notification_form import read_mailto, read_notification
from kron.language.output_form import read_output
from kron.timing.job import MAX_GRACE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OCTAL = re.compile(r"0?[0-7]{3}")


def _text_matching(pattern: re.Pattern[str], description: str, hint: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise Fault("BAD_VALUE", f"{clip(text)!r} is not {description}", 0, len(text), hint)
        return text

    return read


_absolute_path = _text_matching(re.compile(r"/.*", re.DOTALL), "an absolute path", "begin it with /")


def _read_umask(text: str) -> int:
    return int(_text_matching(_OCTAL, "an octal mask", "write it as 022 or 0077")(text), 8)


def _read_timeout(text: str) -> int:
    timeout = read_duration(text)
    if not timeout:
        raise Fault("BAD_VALUE", "timeout must be longer than 0", 0, len(text), "write a duration such as 30m")
    return timeout


def _read_grace(text: str) -> int:
    grace = read_duration(text)
    if grace > MAX_GRACE:
        raise Fault("BAD_VALUE", "grace must be at most 1h", 0, len(text), "write a duration such as 30s")
    return grace


def _read_truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise Fault("BAD_VALUE", f"{clip(text)!r} is not true or false", 0, len(text), "write true or false")
    return text == "true"


def _read_output(text: str) -> str:
    read_output(text)
    return text


def _read_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        hint = "write env=NAME=value, with letters, digits and _ in the name"
        raise Fault("BAD_VALUE", f"{clip(text)!r} is not NAME=value", 0, len(text), hint)
    return name, value


# How the value of each key is read.
KEYS: dict[str, Callable[[str], Any]] = {
    "name": _text_matching(
        _NAME, "a valid name", "use up to 128 of A-Z a-z 0-9 . _ / - and begin with a letter or digit"
    ),
    "command": str,
    "user": str,
    "group": str,
    "cwd": _absolute_path,
    "env": _read_variable,
    "shell": _absolute_path,
    "umask": _read_umask,
    "timeout": _read_timeout,
    "grace": _read_grace,
    "restart": _read_truth,
    "stdout": _read_output,
    "stderr": _read_output,
    "notify": read_notification,
    "mailto": read_mailto,
    "description": str,
}
