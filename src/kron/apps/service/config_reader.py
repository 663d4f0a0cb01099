"""Reader of the settings: from a TOML file, the environment and flags; the later source wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from kron.apps.service.config import Config
from kron.apps.service.config_check import check
from kron.apps.service.config_error import bad_setting
from kron.errors import InvalidSetting, did_you_mean

# Names from the specification are also read without the prefix: TICK_MS as well as KRON_TICK_MS.
BARE_NAMES = frozenset(
    {
        "TICK_MS",
        "LOOKAHEAD_MS",
        "MAX_CATCHUP_PER_TICK",
        "DEFAULT_OVERLAP_POLICY",
        "DEFAULT_CATCHUP_POLICY",
        "DEFAULT_JITTER_MS",
        "MISFIRE_GRACE_MS",
        "RUN_LEASE_MS",
        "CRON_SECONDS_POSITION",
    }
)


SETTINGS_HINT = "see docs/reference/settings.md"


class Setting(NamedTuple):
    """A value and its source: `default`, `file`, `environment` or `flag`."""

    value: Any
    source: str


OLDER_NAMES = {"run_lease_ms": ("INFLIGHT_LEASE_MS", "KRON_INFLIGHT_LEASE_MS")}  # names of the resolutions, also read
# Variables of the command-line client, not of these processes.
OTHER_VARIABLES = frozenset({"KRON_URL", "KRON_TOKEN", "KRON_FAILPOINT", "KRON_INFLIGHT_LEASE_MS"})
WORKER_DEFAULTS = {"listen": "", "auth": "none"}  # a worker has no HTTP API and listens only if told to


def read_config(
    environment: Mapping[str, str], flags: Mapping[str, str], path: str = "", *, worker: bool = False
) -> Config:
    """Return the configuration of a process.

    Args:
        environment: Environment variables.
        flags: Settings of the command line, by name.
        path: TOML file; empty for none.
        worker: Whether the process is `kron worker`.

    Raises:
        InvalidSetting: A setting is wrong; the error names the first one.
    """
    settings = read_settings(environment, flags, path)
    types = {field.name: str(field.type) for field in fields(Config)}
    values = {name: _value(name, types[name], setting.value) for name, setting in settings.items()}
    config = Config(**({**WORKER_DEFAULTS, **values, "auth": "none", "run_worker": True} if worker else values))
    check(config, serves=not worker)
    return config


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str], path: str = "") -> dict[str, Setting]:
    """Return the settings of the three sources by field name. Unknown names in a file or a flag are rejected."""
    names = {field.name for field in fields(Config)}
    settings = {name: Setting(value, "file") for name, value in (_file(path) if path else {}).items()}
    for name in names:
        bare_names = [name.upper()] if name.upper() in BARE_NAMES else []
        for variable in (*OLDER_NAMES.get(name, ()), *bare_names, f"KRON_{name.upper()}"):
            if environment.get(variable):
                settings[name] = Setting(environment[variable], "environment")
    settings |= {name.lower().replace("-", "_"): Setting(value, "flag") for name, value in flags.items()}
    for name, setting in settings.items():
        if name not in names:
            hint = did_you_mean(name.upper(), sorted(map(str.upper, names)), SETTINGS_HINT)
            source = path if setting.source == "file" else setting.source
            raise InvalidSetting("CONFIG", f"unknown setting {name.upper()} ({source})", hint=hint)
    return settings


def unknown_variables(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the KRON_* variables that are not settings, each with a hint."""
    setting_names = sorted(f"KRON_{field.name.upper()}" for field in fields(Config))
    kron_names = (name for name in environment if name.startswith("KRON_") and not name.startswith("KRON_TEST_"))
    unknown_names = sorted(name for name in kron_names if name not in OTHER_VARIABLES.union(setting_names))
    return [(name, did_you_mean(name, setting_names, SETTINGS_HINT)) for name in unknown_names]


def _file(path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            "CONFIG", f"cannot read the settings file {path}: {error}", hint="use a TOML file"
        ) from None
    settings = table.get("service", table)
    if not isinstance(settings, dict):
        raise InvalidSetting("CONFIG", f"{path}: 'service' is not a table", hint="put the settings under [service]")
    return {name.lower(): value for name, value in settings.items()}


def _value(name: str, kind: str, value: Any) -> Any:
    if kind == "int":
        digits = str(value).strip()
        if isinstance(value, bool) or not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
            raise bad_setting(name, value, "is not a whole number", "use digits, such as 1000")
        return int(digits)
    if kind.startswith("bool"):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if str(value).lower() not in words:
            raise bad_setting(name, value, "is neither true nor false", "use true or false")
        return words[str(value).lower()]
    if kind.startswith("tuple"):
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        return tuple(str(item).strip() for item in items if str(item).strip())
    if not isinstance(value, str):
        raise bad_setting(name, value, "is not a string", "put it in quotes")
    return value
