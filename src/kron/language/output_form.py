"""Forms of a command's output: captured, inherited, discarded, a file, syslog or the systemd journal."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kron.errors import clip
from kron.language.fault import Fault
from kron.timing.zone import Zone

_PREFIX = "file:"
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_DIRECTIVES = ("%Y", "%m", "%d", "%H", "%M", "%S", "%F", "%s", "%%")
_HINT = "write capture, inherit, discard, syslog, journal, file:/path or an absolute path"


class Form(StrEnum):
    """What becomes of an output."""

    CAPTURE = "capture"  # a file per run, kept by the worker
    INHERIT = "inherit"  # the same output of the worker
    DISCARD = "discard"
    FILE = "file"
    SYSLOG = "syslog"
    JOURNAL = "journal"  # of systemd


class OutputForm(NamedTuple):
    """Form of an output.

    Attributes:
        form: What becomes of the output.
        path: Path of a file; empty for other forms.
        has_date: Whether the path has `%` directives (`file:`). A plain path is used as written.
    """

    form: Form
    path: str = ""
    has_date: bool = False

    def path_at(self, nominal: int, zone: Zone) -> str:
        """Return the path for a period. Directives stand for its nominal time in a time zone.

        Args:
            nominal: Nominal time in seconds since the epoch.
            zone: Time zone of the schedule.
        """
        if not self.has_date:
            return self.path
        wall = zone.wall(nominal)
        year, month, day = wall.date.text.split("-")
        hour, minute, second = (f"{number:02d}" for number in (wall.hour, wall.minute, wall.second))
        values = (year, month, day, hour, minute, second, wall.date.text, str(nominal), "%")
        texts = dict(zip(_DIRECTIVES, values, strict=True))
        return _DIRECTIVE.sub(lambda match: texts[match[0]], self.path)


CAPTURE = OutputForm(Form.CAPTURE)
_WORDS = {form.value: OutputForm(form) for form in Form if form is not Form.FILE}


def read_output(text: str) -> OutputForm:
    """Parse the value of `stdout` or `stderr`.

    Raises:
        Fault: The value is not the form of an output.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("/"):
        return OutputForm(Form.DISCARD) if text == "/dev/null" else OutputForm(Form.FILE, text)
    if not text.startswith(_PREFIX):
        raise Fault("BAD_VALUE", f"{clip(text)!r} is not an output", 0, len(text), _HINT)
    path = text.removeprefix(_PREFIX)
    if not path.startswith("/"):
        message = f"{clip(path)!r} is not an absolute path"
        raise Fault("BAD_VALUE", message, len(_PREFIX), max(len(text), len(_PREFIX) + 1), "begin the path with /")
    for match in _DIRECTIVE.finditer(path):
        if match[0] not in _DIRECTIVES:
            start = len(_PREFIX) + match.start()
            hint = f"use one of {', '.join(_DIRECTIVES)}"
            raise Fault("BAD_VALUE", f"{match[0]!r} is not a known part of a time", start, start + len(match[0]), hint)
    return OutputForm(Form.FILE, path, has_date=True)


def output_form(text: str | None) -> OutputForm:
    """Return the form of the output of a stored command; None is the default.

    Raises:
        ValueError: The stored text is not the form of an output.
    """
    try:
        return CAPTURE if text is None else read_output(text)
    except Fault as fault:
        raise ValueError(f"{fault.message}: {fault.hint}") from None
