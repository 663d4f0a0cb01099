"""What `kron serve` is told: by a TOML file, by the environment, by flags; the later of them wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from kron.errors import KronError, did_you_mean

LONGEST_LOOKAHEAD = 3_600_000
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
    misfire_grace_ms: int = 0  # 0: as long as a tick
    inflight_lease_ms: int = 3_600_000  # 0: for ever
    cron_seconds_position: str = "first"

    store: str = "memory:"
    listen: str = "127.0.0.1:8080"
    tls_certificate: str = ""  # files of PEM: then it speaks TLS
    tls_key: str = ""
    tls_client_ca: str = ""  # then it speaks only to those who show a certificate of this authority
    tls_client_names: tuple[str, ...] = ()  # and only to those whose certificate has one of these names
    public_url: str = ""  # where receivers of webhooks can reach this service, to report
    worker: bool = True  # whether this process also keeps time
    sends: int = 100  # runs that a pass sends at once: so many receivers may hang before others wait for them
    log: bool = True  # events as lines of JSON on stderr
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
    webhook_http: bool = False  # whether targets without TLS are allowed
    webhook_allow: tuple[str, ...] = ()  # networks that are not public, and may be called all the same
    workflows: str = ""  # the folder of the workflow store; store: for a table beside the schedules, in PostgreSQL
    executor: str = ""  # where workflows are sent to be run

    @property
    def grace(self) -> int:
        """What starts within it is on time."""
        return self.misfire_grace_ms or self.tick_ms

    @property
    def address(self) -> tuple[str, int]:
        """Where to listen."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def read_config(environment: Mapping[str, str], flags: Mapping[str, str], path: str = "") -> Config:
    """The configuration; refused as a whole if any of it cannot be."""
    known = {each.name: each.type for each in fields(Config)}
    found: dict[str, Any] = _file(path) if path else {}
    for name in known:
        for variable in (name.upper() if name.upper() in BARE else "", f"KRON_{name.upper()}"):
            if variable and environment.get(variable):
                found[name] = environment[variable]
    found |= {name.lower().replace("-", "_"): value for name, value in flags.items()}
    for name in found:
        if name not in known:
            raise _bad(name, "there is no such setting", did_you_mean(name, known, "see docs/service.md"))
    return _checked(Config(**{name: _value(name, str(known[name]), value) for name, value in found.items()}))


def _file(path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KronError("CONFIG", f"{path} cannot be read: {error}", hint="give a TOML file") from None
    return {name.lower(): value for name, value in table.get("service", table).items()}


def _value(name: str, kind: str, value: Any) -> Any:
    if kind == "int":
        if isinstance(value, bool) or not str(value).strip().isascii() or not str(value).strip().isdigit():
            raise _bad(name, f"{value!r} is not a whole number", "write it in digits")
        return int(str(value))
    if kind == "bool":
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if str(value).lower() not in words:
            raise _bad(name, f"{value!r} is neither true nor false", "write true or false")
        return words[str(value).lower()]
    if kind.startswith("tuple"):
        items = value.split(",") if isinstance(value, str) else value
        return tuple(str(item).strip() for item in items if str(item).strip())
    return str(value)


def _checked(config: Config) -> Config:
    allowed = {
        "default_overlap_policy": ("allow", "skip", "queue"),
        "default_catchup_policy": ("none", "fire_immediately", "spread"),
        "cron_seconds_position": ("first", "last"),
        "auth": ("jwt", "none"),
    }
    for name, choices in allowed.items():
        if getattr(config, name) not in choices:
            raise _bad(name, f"{getattr(config, name)!r} is none", f"it is one of {', '.join(choices)}")
    if not 10 <= config.tick_ms <= 60_000:
        raise _bad("tick_ms", "a worker wakes every 10 to 60,000 ms", "1000 is the default")
    if not config.tick_ms <= config.lookahead_ms <= LONGEST_LOOKAHEAD:
        raise _bad("lookahead_ms", f"it lies between a tick and {LONGEST_LOOKAHEAD}", "60000 is the default")
    if not 1 <= config.max_catchup_per_tick <= 10_000:
        raise _bad("max_catchup_per_tick", "it is a number from 1 to 10,000", "100 is the default")
    if not 1 <= config.sends <= 1_000:
        raise _bad("sends", "it is a number from 1 to 1,000", "100 is the default")
    if not config.listen.rpartition(":")[2].isdigit():
        raise _bad("listen", f"{config.listen!r} is no address", "write host:port")
    if bool(config.tls_certificate) != bool(config.tls_key) or (config.tls_client_ca and not config.tls_key):
        raise _bad("tls_key", "a certificate needs its key, and clients need a server with both", "give both files")
    if config.tls_client_names and not config.tls_client_ca:
        raise _bad("tls_client_names", "names mean nothing without an authority", "set TLS_CLIENT_CA too")
    _check_auth(config)
    return config


def _check_auth(config: Config) -> None:
    if config.auth == "none":
        if config.address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise _bad("auth", "without it only this machine may call", "listen on 127.0.0.1, or configure tokens")
        return
    for name in ("jwks", "issuer", "audience"):
        if not getattr(config, name):
            raise _bad(name, "tokens cannot be checked without it", "set it, or auth=none on a loopback address")
    if "://" in config.jwks and not config.jwks.startswith("https://"):
        raise _bad("jwks", "keys that come unprotected prove nothing", "give an https URL or a file")


def _bad(name: str, reason: str, hint: str) -> KronError:
    return KronError("CONFIG", f"the setting {name.upper()} cannot be used: {reason}", hint=hint)
