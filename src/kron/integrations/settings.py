"""Settings of a framework that name the store and the limits of its scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kron.errors import InvalidSetting, did_you_mean

OPTIONS = {  # by the name of the setting: the parameter of Scheduler
    "STORE": "store",
    "RUN_JOBS": "run_jobs",
    "MAX_WORKERS": "max_workers",
    "MAX_COROUTINES": "max_coroutines",
    "SHUTDOWN_TIMEOUT": "shutdown_timeout",
    "RETENTION": "retention",
}


def scheduler_options(settings: Mapping[str, Any], written: Callable[[str], str]) -> dict[str, Any]:
    """Return the arguments of `Scheduler` for the settings of a framework.

    Args:
        settings: The settings, by the names in `OPTIONS`.
        written: Returns a name as it is written in the settings of the framework.

    Raises:
        InvalidSetting: A setting has an unknown name.
    """
    for name in settings:
        if name not in OPTIONS:
            known = [written(each) for each in OPTIONS]
            hint = did_you_mean(written(name), known, f"use one of {', '.join(known)}")
            raise InvalidSetting("CONFIG", f"unknown setting {written(name)}", hint=hint)
    return {OPTIONS[name]: value for name, value in settings.items()}
