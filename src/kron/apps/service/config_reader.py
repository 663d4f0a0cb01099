"""Reader of the settings: from a TOML file, the environment and flags; the later source wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from kron.apps.service.config import Config
from kron.apps.service.config_check import bad_setting, check
from kron.errors import InvalidSetting, did_you_mean

# Names from the specification are also read without the prefix: TICK_MS as well as KRON_TICK_MS.
BARE = frozenset(
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


LISTED = "see docs/reference/settings.md"


class Setting(NamedTuple):
    """A value and its source: `default`, `file`, `environment` or `flag`."""

    value: Any
    source: str


OLDER = {"run_lease_ms": ("INFLIGHT_LEASE_MS", "KRON_INFLIGHT_LEASE_MS")}  # names of the resolutions, also read
# Variables of the command-line client, not of these processes.
OTHERS = frozenset({"KRON_URL", "KRON_TOKEN", "KRON_FAILPOINT", "KRON_INFLIGHT_LEASE_MS"})
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
    known = {each.name: str(each.type) for each in fields(Config)}
    found = {name: _value(name, known[name], setting.value) for name, setting in settings.items()}
    config = Config(**({**WORKER_DEFAULTS, **found, "auth": "none", "run_worker": True} if worker else found))
    check(config, serves=not worker)
    return config


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str], path: str = "") -> dict[str, Setting]:
    """Return the settings of the three sources by field name. Unknown names in a file or a flag are rejected."""
    known = {each.name for each in fields(Config)}
    found = {name: Setting(value, "file") for name, value in (_file(path) if path else {}).items()}
    for name in known:
        bare = [name.upper()] if name.upper() in BARE else []
        for variable in (*OLDER.get(name, ()), *bare, f"KRON_{name.upper()}"):
            if environment.get(variable):
                found[name] = Setting(environment[variable], "environment")
    found |= {name.lower().replace("-", "_"): Setting(value, "flag") for name, value in flags.items()}
    for name, setting in found.items():
        if name not in known:
            hint = did_you_mean(name.upper(), sorted(map(str.upper, known)), LISTED)
            source = path if setting.source == "file" else setting.source
            raise InvalidSetting("CONFIG", f"unknown setting {name.upper()} ({source})", hint=hint)
    return found


def unknown_variables(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the KRON_* variables that are not settings, each with a hint."""
    known = sorted(f"KRON_{each.name.upper()}" for each in fields(Config))
    ours = (name for name in environment if name.startswith("KRON_") and not name.startswith("KRON_TEST_"))
    strange = sorted(name for name in ours if name not in OTHERS.union(known))
    return [(name, did_you_mean(name, known, LISTED)) for name in strange]


def _file(path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            "CONFIG", f"cannot read the settings file {path}: {error}", hint="use a TOML file"
        ) from None
    found = table.get("service", table)
    if not isinstance(found, dict):
        raise InvalidSetting("CONFIG", f"{path}: 'service' is not a table", hint="put the settings under [service]")
    return {name.lower(): value for name, value in found.items()}


def _value(name: str, kind: str, value: Any) -> Any:
    if kind == "int":
        digits = str(value).strip()
        if isinstance(value, bool) or not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
            raise bad_setting(name, value, "is not a whole number", "use digits, such as 1000")
        return int(digits)
    if kind == "bool":
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
