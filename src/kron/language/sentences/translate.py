"""Translation of a sentence into a line of the kron dialect, with a window in place of the scattering."""

from __future__ import annotations

from kron.language.canonical import write_window
from kron.language.sentences.grammar import Sentence
from kron.language.sentences.interval import Fixed
from kron.language.sentences.placeholder import Around, Between, Daily, Fortnightly, Hourly, Stretch, Weekly
from kron.timing.schedule.window import SECOND, Mode, Window

# The pool uses these hours only; its first slot is not before 02:00, its last slot not after 23:59.
_POOL_CONSTRAINT = "@only(hours=2-5,10-12,19-23)"
_POOL_START_HOUR = 2
_POOL_MINUTES = 22 * 60 - 1
_MINUTE = 60 * SECOND


def kron_line(sentence: Sentence) -> str:
    """Return the line in the kron dialect. It draws a new time in each period; a sentence draws only once."""
    match sentence.plan:
        case Fixed(cron):
            return cron
        case Hourly(every, workdays):
            hours, days = f"*/{every}" if every and every > 1 else "*", "1-5" if workdays else "*"
            return f"5 {hours} * * {days} {_write_window_after(49)}"
        case Fortnightly() as plan:
            return f"0 {_POOL_START_HOUR} */{plan.days} * * {_write_window_after(_POOL_MINUTES)} {_POOL_CONSTRAINT}"
        case Daily(stretch, workdays):
            return _write_line(stretch, "*" if workdays is None else f"{workdays}-{workdays + 4}")
        case Weekly(None):
            return f"0 {_POOL_START_HOUR} * * 0 {_write_window_after(6 * 24 * 60 + _POOL_MINUTES)} {_POOL_CONSTRAINT}"
        case Weekly(day, stretch):
            return _write_line(stretch, str(day))


def _write_line(stretch: Stretch | None, days: str) -> str:
    match stretch:
        case Around(minute):
            window = write_window(Window(Mode.AROUND, stretch.size * _MINUTE))
            return f"{minute % 60} {minute // 60} * * {days} @win({window})"
        case Between(start):
            return f"{start % 60} {start // 60} * * {days} {_write_window_after(stretch.size)}"
        case None:
            return f"0 {_POOL_START_HOUR} * * {days} {_write_window_after(_POOL_MINUTES)} {_POOL_CONSTRAINT}"


def _write_window_after(minutes: int) -> str:
    return f"@win({write_window(Window(Mode.AFTER, minutes * _MINUTE))})"
