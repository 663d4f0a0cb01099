"""Cron that can always say when, why and why not."""

from kron.core.decision import Decision, decide
from kron.core.period import Period, latest, periods
from kron.core.schedule import Schedule
from kron.errors import KronError, LanguageError
from kron.language import parse
from kron.language.english import english
from kron.language.explain import lower, unparse
from kron.language.record import record, verify

__version__ = "0.1.0"

__all__ = [
    "Decision",
    "KronError",
    "LanguageError",
    "Period",
    "Schedule",
    "decide",
    "english",
    "latest",
    "lower",
    "parse",
    "periods",
    "record",
    "unparse",
    "verify",
]
