"""Kron: a scheduler that can explain when and why each run happened or did not happen."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kron._version import __version__ as __version__
    from kron.apps.declarative import DeclarativeScheduler
    from kron.apps.embedded import Scheduler
    from kron.apps.embedded.current_run import CurrentRun, current_run
    from kron.apps.embedded.job_info import JobInfo
    from kron.apps.embedded.run_event import RunEvent
    from kron.apps.embedded.run_info import RunInfo
    from kron.errors import (
        AccessDenied,
        AlreadyExists,
        Contended,
        Fenced,
        InvalidInput,
        InvalidSchedule,
        InvalidSetting,
        KronError,
        LanguageError,
        NotFound,
        QuotaExceeded,
        RevisionConflict,
        StoreUnavailable,
        StoreUnsuitable,
        Unavailable,
        UnreadableRecord,
        UsageError,
        WriteRejected,
    )
    from kron.language import parse
    from kron.language.canonical import to_posix, unparse
    from kron.language.english import describe
    from kron.language.record import to_record, verify
    from kron.timing.decision import Decision, decide
    from kron.timing.period import Period, last_period, periods
    from kron.timing.schedule import Schedule


__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "Contended",
    "CurrentRun",
    "Decision",
    "DeclarativeScheduler",
    "Fenced",
    "InvalidInput",
    "InvalidSchedule",
    "InvalidSetting",
    "JobInfo",
    "KronError",
    "LanguageError",
    "NotFound",
    "Period",
    "QuotaExceeded",
    "RevisionConflict",
    "RunEvent",
    "RunInfo",
    "Schedule",
    "Scheduler",
    "StoreUnavailable",
    "StoreUnsuitable",
    "Unavailable",
    "UnreadableRecord",
    "UsageError",
    "WriteRejected",
    "current_run",
    "decide",
    "describe",
    "last_period",
    "parse",
    "periods",
    "to_posix",
    "to_record",
    "unparse",
    "verify",
]

_HOMES = {
    "kron.apps.declarative": ("DeclarativeScheduler",),
    "kron.apps.embedded": ("Scheduler",),
    "kron.apps.embedded.current_run": ("CurrentRun", "current_run"),
    "kron.apps.embedded.job_info": ("JobInfo",),
    "kron.apps.embedded.run_event": ("RunEvent",),
    "kron.apps.embedded.run_info": ("RunInfo",),
    "kron.timing.decision": ("Decision", "decide"),
    "kron.timing.period": ("Period", "last_period", "periods"),
    "kron.timing.schedule": ("Schedule",),
    "kron.errors": (
        "AccessDenied",
        "AlreadyExists",
        "Contended",
        "Fenced",
        "InvalidInput",
        "InvalidSchedule",
        "InvalidSetting",
        "KronError",
        "LanguageError",
        "NotFound",
        "QuotaExceeded",
        "RevisionConflict",
        "StoreUnavailable",
        "StoreUnsuitable",
        "Unavailable",
        "UnreadableRecord",
        "UsageError",
        "WriteRejected",
    ),
    "kron.language": ("parse",),
    "kron.language.english": ("describe",),
    "kron.language.canonical": ("to_posix", "unparse"),
    "kron.language.record": ("to_record", "verify"),
}


def __getattr__(name: str) -> Any:
    """Return a public name from its module. The import is deferred to first use so that `kron --help` stays fast."""
    home = "kron._version" if name == "__version__" else next((m for m, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'kron' has no attribute {name!r}")
    return getattr(import_module(home), name)
