"""Cron that can always say when, why and why not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron.apps.declarative import DeclarativeScheduler
    from kron.apps.embedded import Scheduler
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
    "DeclarativeScheduler",
    "KronError",
    "LanguageError",
    "Period",
    "Schedule",
    "Scheduler",
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

_HOMES = {
    "kron.apps.declarative": ("DeclarativeScheduler",),
    "kron.apps.embedded": ("Scheduler",),
    "kron.core.decision": ("Decision", "decide"),
    "kron.core.period": ("Period", "latest", "periods"),
    "kron.core.schedule": ("Schedule",),
    "kron.errors": ("KronError", "LanguageError"),
    "kron.language": ("parse",),
    "kron.language.english": ("english",),
    "kron.language.explain": ("lower", "unparse"),
    "kron.language.record": ("record", "verify"),
}


def __getattr__(name: str) -> Any:
    """A public name, from its home; loaded when it is first asked for, so that `kron --help` stays quick."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'kron' has no attribute {name!r}")
    return getattr(import_module(home), name)
