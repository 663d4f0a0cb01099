"""What must hold for any text whatsoever: a result that can be written and read again, or an error in words.

A target takes a text and returns whether it was accepted. Any exception that is not a KronError is a finding.
"""

from collections.abc import Callable
from functools import partial

from kron.errors import KronError, LanguageError
from kron.language import parse
from kron.language.canonical import canonical, to_posix, unparse
from kron.language.dialect import TABLE
from kron.language.english import describe
from kron.language.krontab import read_table
from kron.language.lint import lint
from kron.language.reading import read_stored
from kron.language.record import to_record, verify
from kron.timing.decision import decide
from kron.timing.period import Period, next_nominal
from kron.timing.schedule import Schedule
from kron.timing.zone import EARLIEST

PATH = "/etc/krontab"
# Placeholders are compiled sentences, which have targets of their own.
FOREIGN = tuple(name for name, dialect in TABLE.items() if not dialect.stored and name != "placeholder")
NOW = 1_772_323_200  # 2026-03-01T00:00:00Z


def posix(text: str) -> bool:
    """The strict POSIX dialect."""
    return _dialect(text, "posix")


def service(text: str) -> bool:
    """The service dialect."""
    return _dialect(text, "service")


def kron(text: str) -> bool:
    """Kron's own dialect."""
    return _dialect(text, "kron")


def table(text: str) -> bool:
    """krontab files."""
    found = read_table(text, PATH)
    for error in found.errors:
        _shown(error)
    for line in found.lines:
        assert parse(line.schedule, dialect="kron") == line.job.schedule
        _written(line.job.schedule)
    return not found.errors


def recorded(text: str) -> bool:
    """Recorded decisions: JSON, or else the values of a good record's fields, each on a line of its own."""
    given = text if text.startswith(("{", "[")) else RECORD | dict(zip(QUESTION, text.split("\n"), strict=False))
    try:
        return not verify(given)
    except KronError as error:
        str(error).encode()
        return False


def foreign(text: str, dialect: str) -> bool:
    """Texts of another scheduler. The schedule is stored by its canonical text, which must give it again."""
    try:
        schedule = parse(text, dialect=dialect, timezone="Europe/Paris", identity="fuzz")
    except LanguageError as error:
        _shown(error)
        return False
    stored = canonical(schedule)
    assert stored.dialect in ("kron", "service", "plus")
    assert read_stored(stored.text, stored.dialect, schedule.zone.name) == schedule
    assert next_nominal(schedule, EARLIEST) is not None
    assert schedule.zone.name in describe(schedule)
    lint(stored.text, schedule, NOW, dialect=stored.dialect)
    return True


def _dialect(text: str, dialect: str) -> bool:
    try:
        schedule = parse(text, dialect=dialect)
    except LanguageError as error:
        _shown(error)
        return False
    _written(schedule)
    lint(text, schedule, NOW)
    return True


def _written(schedule: Schedule) -> None:
    text, dialect = unparse(schedule), canonical(schedule).dialect
    assert parse(text, dialect=dialect, timezone=schedule.zone.name) == schedule
    assert unparse(parse(text, dialect=dialect, timezone=schedule.zone.name)) == text
    if schedule.cron.seconds == 1:
        assert parse(to_posix(schedule.cron), dialect="posix").cron == schedule.cron
    assert schedule.zone.name in describe(schedule)


def _shown(error: LanguageError) -> None:
    start, end = error.span
    assert 0 <= start <= end <= len(error.place.text) + 1
    assert error.code and error.message and error.hint
    assert len(str(error)) < 2_000
    str(error).encode()  # it can be printed


QUESTION = ("identity", "dialect", "schedule", "timezone", "period_id")
_SCHEDULE = parse("0 10 * * * @win(around,90m) @dist(skewLate,shape=2.5) @only(hours=8-10)", dialect="kron")
RECORD = to_record(decide(_SCHEDULE, Period(next_nominal(_SCHEDULE, NOW) or 0), "fuzz"))
TARGETS: dict[str, Callable[[str], bool]] = {
    "posix": posix,
    "service": service,
    "kron": kron,
    "table": table,
    "record": recorded,
    **{dialect: partial(foreign, dialect=dialect) for dialect in FOREIGN},
}
