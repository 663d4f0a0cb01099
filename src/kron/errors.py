"""Errors: each has a stable code, a message, and a hint with the action that fixes the problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_SHOWN = 100  # characters; of a longer text, only the part around the place is shown


class KronError(Exception):
    """Base class of every error that Kron raises deliberately.

    Attributes:
        code: Stable identifier of the problem. It never changes; the wording of the message can change.
        message: The problem, with the offending value.
        hint: The action that fixes the problem; empty if there is none. A second line is a second opinion.
        details: Machine-readable facts about the problem.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", details: Mapping[str, object] | None = None) -> None:
        super().__init__(code, message)  # unpickling calls __init__ with these; the rest is in __dict__
        self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return report(self.code, self.message, None, self.hint)


class InvalidInput(KronError):
    """A value, a field of a request or a line of a file is invalid; base class of `InvalidSchedule`."""


class InvalidSchedule(InvalidInput):
    """A schedule is invalid: its text, its dialect, its target or its options; base class of `LanguageError`."""


class InvalidSetting(KronError):
    """A setting or store URL is invalid, or needs a package, a platform or a part that is missing."""


class UsageError(KronError):
    """A command or a Python call is wrong, such as a job whose function cannot be called."""


class NotFound(KronError):
    """The schedule, run, period or file does not exist."""


class AlreadyExists(KronError):
    """The name or the idempotency key is already in use."""


class RevisionConflict(KronError):
    """The schedule does not have the revision that the request names."""


class Contended(KronError):
    """Other requests changed the same schedule at the same time, and Kron gave up after several attempts."""


class AccessDenied(KronError):
    """The service does not accept the token, or the token does not permit the request."""


class QuotaExceeded(KronError):
    """A limit of the service is reached: schedules, manual runs, concurrent requests or event streams."""


class Unavailable(KronError):
    """The service, or something that it needs, does not answer in time; base class of `StoreUnavailable`."""


class StoreUnavailable(Unavailable):
    """The store failed or did not answer in time; a write can have been done."""


class StoreUnsuitable(KronError):
    """The store answers, but Kron cannot use it: its tables are missing, too old, too new or of another program."""


class WriteRejected(KronError):
    """A constraint of the database rejected a write; nothing of the write was stored."""


class UnreadableRecord(KronError):
    """A stored record cannot be read."""


class Fenced(KronError):
    """The run belongs to another attempt or has ended; the transaction of this attempt was rolled back."""


class Place(NamedTuple):
    """Part of a text: the characters `text[start:end]`, and the file and line, or the field, that the text is from.

    Attributes:
        text: The whole line or text.
        start: Index of the first character.
        end: Index after the last character.
        source: File or field name; empty if the text has neither.
        line: Line number in the file, from 1; 0 if `source` is not a file.
    """

    text: str
    start: int
    end: int
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, as editors and compilers write it; the source alone if there is no line number."""
        return f"{self.source}:{self.line}:{self.start + 1}" if self.line else self.source

    def excerpt(self) -> str:
        """Return the text with carets under the place, shortened to 100 characters around it."""
        first = max(0, min(self.start - _SHOWN // 3, len(self.text) - _SHOWN))
        last = first + _SHOWN
        head, tail = ("…" if first else ""), ("…" if last < len(self.text) else "")
        lead = ("\t" if c == "\t" else " " * _width(c) for c in self.text[first : self.start])
        width = sum(map(_width, self.text[self.start : min(self.end, last)]))
        plain = "".join(c if c.isprintable() or c == "\t" else "�" for c in self.text[first:last])
        return f"  {head}{plain}{tail}\n  {' ' if head else ''}{''.join(lead)}{'^' * max(1, width)}"


class LanguageError(InvalidSchedule):
    """The text of a schedule or of a file of schedules is invalid; the error has the place of the problem.

    Attributes:
        place: Where in the text the problem is.
    """

    def __init__(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        hint: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(code, message, hint=hint, details=details)
        self.args = (code, message, place)
        self.place = place

    @property
    def span(self) -> tuple[int, int]:
        """Place of the problem in the text, as (start, end)."""
        return self.place.start, self.place.end

    def __str__(self) -> str:
        return report(self.code, self.message, self.place, self.hint)


_CODES: dict[type[KronError], str] = {
    InvalidInput: """
        BAD_FIELD BAD_FILE BAD_LINE BAD_REQUEST BAD_URL CANNOT_SWITCH INVALID LIMIT MEDIA_TYPE METHOD MISSING_FIELD
        NOT_A_DECISION NOT_DEAD NOT_STORABLE NO_REPOSITORY NO_ROUTE OUTSIDE PAST
        TIME_IN_GAP TOO_LARGE TOO_MANY UNKNOWN_FIELD UNSAFE_FILE
        ACCOUNT_EXPIRED NO_ACCOUNT NO_SPOOL
    """,
    InvalidSchedule: """
        AMBIGUOUS BAD_CHARACTER BAD_CLAUSE BAD_DATE BAD_DURATION BAD_MOMENT BAD_PARAMETER BAD_PATH
        BAD_SCHEDULE BAD_STEP BAD_TARGET BAD_TIME BAD_VALUE BAD_WINDOW CANNOT_WRITE DUPLICATE_KEY
        DUPLICATE_MODIFIER DUPLICATE_MOMENT DUPLICATE_NAME DUPLICATE_PARAMETER DURATION_TOO_LONG
        EMPTY_CLAUSE EMPTY_ELEMENT EMPTY_IDENTIFIER EMPTY_MODIFIER FIELD_COUNT FOREIGN_USER HOUR_OUT_OF_RANGE
        INCOMPLETE_RANGE INTERVAL_TOO_SMALL INVALID_12H INVALID_OFFSET INVALID_SEED INVALID_TIME_FORMAT
        INVALID_WINDOW MACRO MALFORMED_MODIFIER MALFORMED_OFFSET MINUTE_OUT_OF_RANGE MISPLACED_MODIFIER
        MISSING_COMPONENT MISSING_KEY MISSING_TIME_SPEC MODIFIER_FIRST NAME NEGATIVE_DURATION NEVER
        NON_INTEGER_INTERVAL NON_POSITIVE_INTERVAL NOT_A_CRONTAB NOT_A_MODIFIER NOT_A_NUMBER NOT_A_PAIR
        NOT_A_SCHEDULE NOT_GITHUB_CRON NOT_POSIX NOT_SAYABLE NOT_YAML NO_ANCHOR NO_CRON NO_DIALECT
        NO_IDENTITY NO_SENTENCE NO_SUCH_TIME NTH_RANGE OPEN_FRONT_MATTER OPEN_RANGE OUT_OF_RANGE QUARTZ
        QUESTION_MARK REVERSED_RANGE SENTENCE_ZONE SHARED_LINE STAR_IN_LIST STEP STEP_NEEDS_RANGE
        STRAY_ESCAPE STRAY_QUOTE TIMES_NEEDS_FROM TOO_DEEP TOO_LONG TOO_MANY_ERRORS TWICE TWO_DIALECTS
        TWO_DOCUMENTS TWO_RULES TWO_SENTENCES TWO_ZONES UNCLOSED_MODIFIER UNCLOSED_QUOTE UNESCAPED_SPACE
        UNEXPECTED_TOKEN UNKNOWN_CADENCE UNKNOWN_CLAUSE UNKNOWN_DIALECT UNKNOWN_DISTRIBUTION UNKNOWN_KEY
        UNKNOWN_KEYWORD UNKNOWN_MODE UNKNOWN_MODIFIER UNKNOWN_NAME UNKNOWN_PARAMETER UNKNOWN_PLACEHOLDER
        UNKNOWN_SECONDS UNKNOWN_STRATEGY UNKNOWN_UNIT UNKNOWN_WEEKDAY UNKNOWN_ZONE UNSUPPORTED_INTERVAL
        UNSUPPORTED_SYNTAX ZERO_DURATION_RANGE
    """,
    InvalidSetting: """
        BAD_SCHEMA CONFIG MISSING_PACKAGE MISSING_PART NEEDS_LINUX NEEDS_ROOT NEEDS_YAML NOT_POSTGRES NO_CLUSTER
        NO_FILE NO_LOCAL_ZONE SHADOW_STATE STATE_FOLDER STATE_IN_USE UNKNOWN_STORE
    """,
    UsageError: """
        BAD_ARGUMENTS BAD_NAME BAD_OPTION FORKED IN_A_LOOP NOT_ASYNC NOT_CALLABLE NOT_IMPORTABLE NOT_RUNNING
        NO_RUN NO_TRANSACTION RUNNING TRANSACTION_ENDED TWO_SCHEDULERS TWO_SCHEDULES UNDECLARED UNKNOWN_OPTION
        UNKNOWN_PRESET UNKNOWN_TASK USAGE
    """,
    NotFound: "NOT_FOUND",
    AlreadyExists: "DUPLICATE_JOB EXISTS GONE",
    RevisionConflict: "REVISION",
    Contended: "CONTENDED",
    AccessDenied: "FORBIDDEN FOREIGN_HOST FOREIGN_ORIGIN LOGIN NO_ROLE UNAUTHENTICATED",
    QuotaExceeded: "QUOTA",
    Unavailable: "AUDIT KEYS NO_ANSWER PROVIDER SLOW_BODY UNREACHABLE",
    StoreUnavailable: "STORE_FAILED STORE_TIMEOUT",
    StoreUnsuitable: "MIGRATION_CHANGED NOT_A_STORE STORE_TOO_NEW STORE_TOO_OLD STORE_UNSUITABLE",
    WriteRejected: "STORE_REFUSED",
    UnreadableRecord: "CORRUPT_ROW",
    Fenced: "FENCED",
    KronError: "INTERNAL",
}
FAMILIES = {code: family for family, codes in _CODES.items() for code in codes.split()}


def error_of(code: str, message: str, *, hint: str = "", details: Mapping[str, object] | None = None) -> KronError:
    """Return an error of the class that its code belongs to; a plain `KronError` if the code is unknown.

    The HTTP client calls it, so that it raises the class that the service raised.
    """
    return FAMILIES.get(code, KronError)(code, message, hint=hint, details=details)


def report(code: str, message: str, place: Place | None, hint: str = "", *, level: str = "error") -> str:
    """Format an error, warning or note as users see it: location, level, code, message, text excerpt and hints.

    Each line of `hint` becomes a hint of its own.
    """
    label = f"{place.label}: " if place and place.label else ""
    picture = [place.excerpt()] if place and place.text.strip() else []  # an empty text has no excerpt
    hints = [f"  hint: {line}" for line in hint.split("\n")] if hint else []
    return "\n".join([f"{label}{level}[{code}]: {message}", *picture, *hints])


def clip(text: str) -> str:
    """Shorten a text that a message quotes to 20 characters."""
    return text if len(text) <= 20 else text[:19] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is at most one edit away from `word`, ignoring case; empty if there is none."""
    wanted, size = word.casefold(), len(word)
    half = max(0, len(wanted) // 2 - 1)  # one edit leaves the first or the last letters unchanged
    first, last = wanted[:half], wanted[len(wanted) - half :]
    alike = ((k, k.casefold()) for k in known if -2 < len(k) - size < 2)
    close = [k for k, low in alike if (low.startswith(first) or low.endswith(last)) and _one_edit_apart(wanted, low)]
    return next((k for k in close if k.casefold() == wanted), close[0] if close else "")


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint that proposes the known word one edit away, or `otherwise` if there is none."""
    close = nearest(word, known)
    return f"did you mean '{close}'?" if close else otherwise


def _one_edit_apart(a: str, b: str) -> bool:
    """Return whether `a` equals `b`, or differs by one letter added, dropped, changed or swapped with its neighbor."""
    if len(a) > len(b):
        a, b = b, a
    i = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[i:] == b[i + 1 :]
    return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])


def _width(char: str) -> int:
    """Return how many terminal columns a character takes. An unprintable one is shown as U+FFFD, which takes one."""
    if char.isascii() or not char.isprintable():
        return 1
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
