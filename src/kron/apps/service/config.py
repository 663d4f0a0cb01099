"""Settings of `kron serve` and `kron worker`: from a TOML file, the environment and flags; the later source wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from kron.apps.service.settings_check import bad_setting, check
from kron.errors import KronError, did_you_mean

NEVER = 100 * 365 * 86_400_000  # a lease of a hundred years

# What the specification names is read by its bare name too: TICK_MS as well as KRON_TICK_MS.
BARE = frozenset(
    {
        "TICK_MS",
        "LOOKAHEAD_MS",
        "MAX_CATCHUP_PER_TICK",
        "DEFAULT_OVERLAP_POLICY",
        "DEFAULT_CATCHUP_POLICY",
        "DEFAULT_JITTER_MS",
        "MISFIRE_GRACE_MS",
        "INFLIGHT_LEASE_MS",
        "CRON_SECONDS_POSITION",
    }
)


@dataclass(frozen=True, slots=True)
class Config:
    """Times in milliseconds. Lists are separated by commas in the environment and in flags."""

    tick_ms: int = 1_000
    lookahead_ms: int = 60_000
    max_catchup_per_tick: int = 100
    default_overlap_policy: str = "skip"
    default_catchup_policy: str = "none"
    default_jitter_ms: int = 0
    misfire_grace_ms: int = 60_000  # what starts within it is on time; longer than a shard lease
    inflight_lease_ms: int = 3_600_000  # 0: for ever
    cron_seconds_position: str = "first"

    store: str = "memory:"
    listen: str = "127.0.0.1:8080"
    tls_certificate: str = ""  # files of PEM: then it speaks TLS
    tls_key: str = ""
    tls_client_ca: str = ""  # then it speaks only to those who show a certificate of this authority
    tls_client_names: tuple[str, ...] = ()  # and only to those whose certificate has one of these names
    trusted_proxies: tuple[str, ...] = ()  # networks whose X-Forwarded-For is believed
    public_url: str = ""  # where receivers of webhooks can reach this service, to report
    worker: bool = True  # whether this process also keeps time
    sends: int = 100  # runs that a pass sends at once: so many receivers may hang before others wait for them
    batch: int = 500  # schedules read in one pass
    shard_lease_ms: int = 15_000  # how long a worker that died keeps its shards
    retention_days: int = 90  # how long the records of ended runs are kept; 0: permanently
    skew_ms: int = 5_000  # how far the clock of the host may be from the store's
    lead: bool = False  # one worker at a time is active; the others stand by
    commands: str = ""  # folder of the command journal: this worker runs host commands
    kubernetes: bool = False  # this worker creates Kubernetes Jobs
    log: bool = True  # write a log to stderr
    log_format: str = "auto"  # auto: text on a terminal, JSON lines elsewhere
    log_level: str = "info"
    audit_log: str = ""  # a file; every change is a line of it

    auth: str = "jwt"  # or none, on a loopback address only
    jwks: str = ""  # the keys of the issuer: a file, or an https URL
    issuer: str = ""
    audience: str = "kron"
    token_lifetime_ms: int = 3_600_000  # a token that lives longer is refused
    tenant_claim: str = ""  # empty: all callers are one tenant

    schedules_per_tenant: int = 10_000
    triggers_per_minute: int = 600
    min_interval_ms: int = 1_000
    zones: tuple[str, ...] = ()  # empty: every zone of the tz database

    webhook_secret: str = field(default="", repr=False)  # whsec_…, several while they are being changed
    report_secret: str = field(default="", repr=False)  # whsec_…: tokens for reports are made with it
    webhook_http: bool = False  # whether targets without TLS are allowed
    webhook_allow: tuple[str, ...] = ()  # networks that are not public, and may be called all the same
    workflows: str = ""  # the folder of the workflow store; store: for a table beside the schedules, in PostgreSQL
    executor: str = ""  # where workflows are sent to be run

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class Setting(NamedTuple):
    """A value and where it comes from: `default`, `file`, `environment` or `flag`."""

    value: Any
    source: str


# Read by the command-line client, not by these processes.
OTHERS = frozenset({"KRON_URL", "KRON_TOKEN", "KRON_FAILPOINT"})
WORKER_DEFAULTS = {"listen": "", "auth": "none"}  # a worker serves no API, and listens only where it is told to


def read_config(
    environment: Mapping[str, str], flags: Mapping[str, str], path: str = "", *, worker: bool = False
) -> Config:
    """Return the configuration, or raise CONFIG for the first setting that is wrong. `worker`: of `kron worker`."""
    settings = read_settings(environment, flags, path)
    known = {each.name: str(each.type) for each in fields(Config)}
    found = {name: _value(name, known[name], setting.value) for name, setting in settings.items()}
    config = Config(**({**WORKER_DEFAULTS, **found, "auth": "none", "worker": True} if worker else found))
    check(config, serves=not worker)
    return config


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str], path: str = "") -> dict[str, Setting]:
    """Return what the three sources say, by the name of the field. An unknown name in a file or a flag is refused."""
    known = {each.name for each in fields(Config)}
    found = {name: Setting(value, "file") for name, value in (_file(path) if path else {}).items()}
    for name in known:
        for variable in (name.upper() if name.upper() in BARE else "", f"KRON_{name.upper()}"):
            if variable and environment.get(variable):
                found[name] = Setting(environment[variable], "environment")
    found |= {name.lower().replace("-", "_"): Setting(value, "flag") for name, value in flags.items()}
    for name, setting in found.items():
        if name not in known:
            hint = did_you_mean(name.upper(), sorted(map(str.upper, known)), "docs/service.md lists the settings")
            source = path if setting.source == "file" else setting.source
            raise KronError("CONFIG", f"unknown setting {name.upper()} ({source})", hint=hint)
    return found


def unknown_variables(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the KRON_* variables that are no setting, each with a hint."""
    known = sorted(f"KRON_{each.name.upper()}" for each in fields(Config))
    ours = (name for name in environment if name.startswith("KRON_") and not name.startswith("KRON_TEST_"))
    strange = sorted(name for name in ours if name not in OTHERS.union(known))
    return [(name, did_you_mean(name, known, "docs/service.md lists the settings")) for name in strange]


def _file(path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KronError("CONFIG", f"cannot read the settings file {path}: {error}", hint="give a TOML file") from None
    found = table.get("service", table)
    if not isinstance(found, dict):
        raise KronError("CONFIG", f"{path}: 'service' is not a table", hint="begin the settings with [service]")
    return {name.lower(): value for name, value in found.items()}


def _value(name: str, kind: str, value: Any) -> Any:
    if kind == "int":
        digits = str(value).strip()
        if isinstance(value, bool) or not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
            raise bad_setting(name, value, "is not a whole number", "write it in digits, such as 1000")
        return int(digits)
    if kind == "bool":
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if str(value).lower() not in words:
            raise bad_setting(name, value, "is neither true nor false", "write true or false")
        return words[str(value).lower()]
    if kind.startswith("tuple"):
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        return tuple(str(item).strip() for item in items if str(item).strip())
    if not isinstance(value, str):
        raise bad_setting(name, value, "is not a text", "write it in quotes")
    return value
