"""Reading: a text, the dialect that it was read in, and the schedule that it means."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kron.errors import LanguageError
from kron.language import kron, posix, service
from kron.language.dialect import TABLE, dialect_of, split_name, unknown_dialect, unknown_name
from kron.language.door import PYTHON, Door
from kron.language.fault import Fault
from kron.language.modifier_args import read_zone
from kron.language.opinion import with_opinion
from kron.language.options import Options, Seconds
from kron.language.tokens import check_text
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import KRON, Policy
from kron.timing.zone import UTC_ZONE, Zone


class Reading(NamedTuple):
    """Schedule of a text, and the text without the name of its dialect."""

    schedule: Schedule
    text: str
    dialect: str


def parse(
    text: str,
    *,
    dialect: str | None = None,
    timezone: str = "UTC",
    seconds: Seconds = "first",
    identity: str = "",
    cadence: Literal["cron", "exact"] = "cron",
    policy: Policy = KRON,
) -> Schedule:
    """Parse a schedule text.

    Args:
        text: The text. It can name its dialect: `fuzzy: daily around 14:00`.
        dialect: A name of `kron.language.DIALECTS`, such as `kron`. None if the text names its dialect.
        timezone: Time zone of a text that names none. Sentences of the fuzzy dialect are always in UTC.
        seconds: Position of the seconds in the six fields of the service dialect.
        identity: Identity that selects the time of a sentence (fuzzy dialect).
        cadence: With `exact`, days and weeks of a sentence are counted across the ends of months.
        policy: Policy of the schedule. Each key of @policy replaces that field only.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The dialect or another option is invalid.
    """
    zone = UTC_ZONE if timezone == "UTC" else zone_of(timezone)
    try:  # the common dialects are read without the table, which takes 10% longer
        check_text(text)
        if dialect == "posix":
            return Schedule(posix.read(text), zone, policy=policy)
        if dialect == "service":
            return Schedule(service.read(text, seconds), zone, policy=policy)
        if dialect == "kron":
            return kron.read(text, zone, policy)
    except Fault as fault:  # no dialect accepts a text with the name of its dialect, so only a refused text is split
        if not split_name(text):
            options = Options(zone, policy, seconds, identity, cadence)
            raise with_opinion(fault, text, dialect or "", options, PYTHON).within(text) from None
    return read(text, dialect, Options(zone, policy, seconds, identity, cadence)).schedule


def read(
    text: str, dialect: str | None, options: Options, *, default: str | None = None, door: Door = PYTHON
) -> Reading:
    """Read a text that can name its dialect.

    Args:
        text: The text.
        dialect: Dialect that the caller names; None if the caller names none.
        options: Options of the reading.
        default: Dialect of a text that names none, if the caller names none either.
        door: Interface that received the text. Hints are written for its users.

    Raises:
        LanguageError: The text is invalid, or names another dialect than the caller. If other dialects accept the
            text, the hint says so, and `details["read_by"]` has their names.
        InvalidSchedule: The dialect or another option is invalid.
    """
    named = split_name(text)
    if named is None:
        chosen = default if dialect is None else dialect
        return _read_in(text, _missing_dialect(text, options, door) if chosen is None else chosen, options, door)
    if dialect is not None and dialect_of(dialect).name != named.dialect:
        raise _two_dialects(text, dialect, named.dialect, named.start)
    try:
        return _read_in(named.text, named.dialect, options, door)
    except LanguageError as error:
        place = error.place
        error.place = place._replace(text=text, start=place.start + named.start, end=place.end + named.start)
        raise


def read_strictly(text: str, dialect: str, options: Options) -> Schedule:
    """Read a text that names no dialect.

    Raises:
        Fault: The text is invalid.
        InvalidSchedule: The dialect or another option is invalid.
    """
    entry = dialect_of(dialect)
    check_text(text)
    return entry.read(text, options)


def read_stored(text: str, dialect: str, timezone: str) -> Schedule:
    """Read a text of a store or a record. A later tz database cannot make it invalid.

    Raises:
        LanguageError: The text is invalid.
        InvalidSchedule: The dialect is invalid.
    """
    if dialect in TABLE and not TABLE[dialect].stored:
        raise unknown_dialect(dialect, [name for name in TABLE if TABLE[name].stored])
    try:
        return read_strictly(text, dialect, Options(zone_of(timezone), stored=True))
    except Fault as fault:
        raise fault.within(text) from None


def zone_of(name: str) -> Zone:
    """Return the time zone of a name.

    Raises:
        LanguageError: The name is unknown.
    """
    try:
        return read_zone(name)
    except Fault as fault:
        raise fault.within(name) from None


def _read_in(text: str, dialect: str, options: Options, door: Door) -> Reading:
    try:
        return Reading(read_strictly(text, dialect, options), text, dialect)
    except Fault as fault:
        raise with_opinion(fault, text, dialect, options, door).within(text) from None


def _missing_dialect(text: str, options: Options, door: Door) -> str:
    """Raise the error of a text without a dialect, with the dialects that accept it."""
    name = unknown_name(text)
    if name:
        return dialect_of(name).name  # raises: the name is unknown
    message = "the text names no dialect, and none is given"
    fault = Fault("NO_DIALECT", message, 0, len(text), f"name the dialect: {', '.join(TABLE)}")
    raise with_opinion(fault, text, "", options, door).within(text)


def _two_dialects(text: str, dialect: str, name: str, end: int) -> LanguageError:
    message = f"the text names the dialect {name}, and the dialect {dialect} is given too"
    return Fault("TWO_DIALECTS", message, 0, end, f"name {name} or {dialect} only").within(text)
