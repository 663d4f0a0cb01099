"""Log source: the lines that cron wrote to a log file or to the journal, one by one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from kron.errors import InvalidInput, NotFound
from kron.language.crontabs.log_line import is_cron
from kron.language.crontabs.log_time import LogLine, LogReader
from kron.timing.zone import Zone

JOURNAL = "journal"
MAX_LINE = 65_536  # characters; the rest of a longer line is read as another line, which is none of cron's
LOG_FILES = ("/var/log/cron.log", "/var/log/cron", "/var/log/syslog")
_PROGRAMS = ("CRON", "cron", "CROND", "crond")
_FIELDS = "__REALTIME_TIMESTAMP,SYSLOG_IDENTIFIER,MESSAGE"


def default_source() -> str:
    """Return where cron logs on this host: a log file if there is one, else the journal.

    Raises:
        NotFound: The host has neither.
    """
    found = next((path for path in LOG_FILES if Path(path).is_file()), None)
    if found:
        return found
    if shutil.which("journalctl") and any(Path(path).is_dir() for path in ("/run/log/journal", "/var/log/journal")):
        return JOURNAL
    raise NotFound("NOT_FOUND", "this host has no log of cron", hint="name it with --log FILE, or --log journal")


def log_lines(sources: Sequence[str], zone: Zone, since: int, now: int) -> Iterator[LogLine]:
    """Yield the lines of log files and of the journal, in their order.

    Lines of other programs are yielded too: they show when a file begins.

    Args:
        sources: Paths of files, the oldest first, or `journal`.
        zone: Time zone of lines whose time has none.
        since: Lines of the journal that are older are not read; in seconds since the epoch.
        now: Time of the reading, in seconds since the epoch.

    Raises:
        NotFound: A file does not exist, or the host has no journal.
        InvalidInput: The journal cannot be read.
    """
    reader = LogReader(zone, now)
    return chain.from_iterable(
        _journal_lines(since) if source == JOURNAL else _file_lines(source, reader) for source in sources
    )


def _file_lines(path: str, reader: LogReader) -> Iterator[LogLine]:
    try:
        with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            while text := file.readline(MAX_LINE):
                line = reader.read(text.rstrip("\n"))
                if line is not None:
                    yield line
    except OSError as error:
        raise NotFound("NOT_FOUND", f"{path}: {error.strerror}", hint="check the file and its permissions") from None


def _journal_lines(since: int) -> Iterator[LogLine]:
    program = shutil.which("journalctl")
    if program is None:
        raise NotFound("NOT_FOUND", "this host has no journalctl", hint="name a log file with --log FILE")
    filters = [f"SYSLOG_IDENTIFIER={name}" for name in _PROGRAMS]
    options = ["--output=json", f"--output-fields={_FIELDS}", "--no-pager", "--quiet", f"--since=@{since}"]
    with subprocess.Popen(  # noqa: S603  # constant arguments and a number
        [program, *options, *filters], stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    ) as process:
        try:
            while process.stdout is not None and (text := process.stdout.readline(MAX_LINE)):
                line = read_journal(text)
                if line is not None:
                    yield line
        finally:
            process.stdout and process.stdout.close()
    if process.returncode:
        message = f"journalctl has failed with status {process.returncode}"
        raise InvalidInput("BAD_FILE", message, hint="run it yourself, or name a log file with --log FILE")


def read_journal(text: str) -> LogLine | None:
    """Return an entry of the journal, as `journalctl --output=json` writes it; None if cron did not write it.

    A message that is not UTF-8 is a list of bytes. One that is too long is missing.
    """
    try:
        entry: Any = json.loads(text)
        at, program, message = int(entry["__REALTIME_TIMESTAMP"]), entry["SYSLOG_IDENTIFIER"], entry["MESSAGE"]
        if isinstance(message, list):
            message = bytes(message).decode("utf-8", "surrogateescape")
    except (ValueError, KeyError, TypeError):
        return None
    is_message = isinstance(program, str) and isinstance(message, str) and is_cron(program)
    return LogLine((at // 1000,), program, message) if is_message else None
