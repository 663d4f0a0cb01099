"""Checks of the settings: each problem is one message with the setting, its value and what is allowed."""

from __future__ import annotations

import os
import ssl
from ipaddress import ip_network
from pathlib import Path

from kron.apps.service.config import Config
from kron.apps.service.config_error import bad_setting
from kron.apps.service.login_check import check_login
from kron.engine.target_limit import BadLimit, read_limits
from kron.errors import KronError, did_you_mean
from kron.launchers.signature import read_secret
from kron.launchers.target import read_url
from kron.stores.url import ENCODING_HINT, url_problem
from kron.timing.zone import zone_names

MAX_LOOKAHEAD_MS = 3_600_000
CHOICES = {
    "default_overlap_policy": ("allow", "skip", "queue"),
    "default_catchup_policy": ("none", "fire_immediately", "spread"),
    "cron_seconds_position": ("first", "last"),
    "auth": ("jwt", "none"),
    "log_format": ("auto", "text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
}
DAY_MS = 86_400_000
RANGES = {
    "tick_ms": (10, 60_000),
    "lookahead_ms": (10, MAX_LOOKAHEAD_MS),
    "max_catchup_per_tick": (1, 10_000),
    "default_jitter_ms": (0, DAY_MS),
    "misfire_grace_ms": (1, DAY_MS),
    "run_lease_ms": (0, 366 * DAY_MS),
    "max_concurrent_launches": (1, 1_000),
    "breaker_failures": (0, 1_000),
    "breaker_hold_ms": (100, 3_600_000),
    "breaker_max_hold_ms": (100, 3_600_000),
    "batch": (1, 10_000),
    "shard_lease_ms": (300, 600_000),
    "max_clock_skew_ms": (1, 3_600_000),
    "max_token_lifetime_ms": (1_000, 366 * DAY_MS),
    "max_schedules_per_tenant": (0, 1_000_000_000),
    "max_triggers_per_minute": (0, 1_000_000),
    "min_interval_ms": (0, 366 * DAY_MS),
}
FILE_SETTINGS = ("tls_certificate", "tls_key", "tls_client_ca")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
POSTGRES = ("postgresql", "postgres")


def check(config: Config, *, serves: bool) -> None:
    """Raise CONFIG for the first unusable setting.

    Args:
        config: Settings to check.
        serves: Whether the process serves the HTTP API.
    """
    for name, choices in CHOICES.items():
        if getattr(config, name) not in choices:
            raise bad_setting(name, getattr(config, name), "is unknown", f"use one of {', '.join(choices)}")
    for name, (low, high) in RANGES.items():
        if not low <= getattr(config, name) <= high:
            raise bad_setting(
                name, getattr(config, name), f"is out of range ({low}-{high})", f"use a value from {low} to {high}"
            )
    _check_times(config)
    _check_store(config.store)
    _check_listen(config.listen, required=serves)
    _check_targets(config)
    _check_files(config)
    if serves:
        _check_tls(config)
        _check_auth(config)
        check_login(config)


def _check_times(config: Config) -> None:
    if config.lookahead_ms < config.tick_ms:
        reason = f"is shorter than TICK_MS ({config.tick_ms})"
        raise bad_setting("lookahead_ms", config.lookahead_ms, reason, "raise it, or lower TICK_MS")
    if config.misfire_grace_ms <= config.shard_lease_ms:
        reason = f"does not exceed SHARD_LEASE_MS ({config.shard_lease_ms}): a worker crash would miss periods"
        raise bad_setting("misfire_grace_ms", config.misfire_grace_ms, reason, "raise it, or lower SHARD_LEASE_MS")
    if config.shard_lease_ms < 2 * config.tick_ms:
        reason = f"is shorter than twice TICK_MS ({config.tick_ms}): a busy worker would lose its shards"
        raise bad_setting("shard_lease_ms", config.shard_lease_ms, reason, "raise it, or lower TICK_MS")


def _check_store(url: str) -> None:
    scheme, _, rest = url.partition(":")
    hint = "use postgresql://USER@HOST/DATABASE, sqlite:PATH or memory:"
    if scheme == "memory" and not rest:
        return
    if scheme == "sqlite" and rest:
        if not Path(rest).absolute().parent.is_dir():
            raise bad_setting("store", url, "is in a folder that does not exist", "create the folder first")
        return
    if scheme not in POSTGRES or not rest.startswith("//"):
        raise bad_setting("store", url, "is not a store URL", hint)
    problem = url_problem(url)
    if problem:
        raise bad_setting("store", url, f"cannot be read: {problem}", ENCODING_HINT)
    for host in rest[2:].partition("/")[0].partition("?")[0].rpartition("@")[2].split(","):
        port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
        if port and not _is_port(port):
            raise bad_setting("store", url, f"has the port {port[:20]!r}", "use a port from 1 to 65535")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535


def _check_listen(listen: str, *, required: bool) -> None:
    if not listen and not required:
        return
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port:
        raise bad_setting("listen", listen, "is not an address", "use HOST:PORT, such as 127.0.0.1:8080")
    if not _is_port(port):
        raise bad_setting("listen", listen, "has a port that is out of range", "use a port from 0 to 65535")


def _check_targets(config: Config) -> None:
    for name in ("webhook_allowed_networks", "trusted_proxies"):
        for text in getattr(config, name):
            try:
                ip_network(text)
            except ValueError as error:
                hint = "use networks such as 10.1.0.0/16, separated by commas"
                raise bad_setting(name, text, f"is not a network ({error})", hint) from None
    for name in ("executor_url", "public_url"):
        try:
            if getattr(config, name):
                read_url(getattr(config, name), plain=True)
        except KronError as error:
            reason = f"is not a usable URL ({error.message.partition(': ')[2]})"
            hint = "use http://HOST/PATH or https://HOST/PATH"
            raise bad_setting(name, getattr(config, name), reason, hint) from None
    _check_secrets(config)
    _check_limits(config)
    for name in config.allowed_timezones:
        zones = zone_names()
        if name not in zones:
            hint = did_you_mean(name, sorted(zones), "use names of the tz database, such as Europe/Paris")
            raise bad_setting("allowed_timezones", name, "is not a time zone", hint)


def _check_limits(config: Config) -> None:
    try:
        read_limits(config.target_limits)
    except BadLimit as error:
        item, problem = error.args
        raise bad_setting("target_limits", item, problem, error.hint) from None
    if config.breaker_max_hold_ms < config.breaker_hold_ms:
        reason = f"is shorter than BREAKER_HOLD_MS ({config.breaker_hold_ms})"
        raise bad_setting("breaker_max_hold_ms", config.breaker_max_hold_ms, reason, "raise it")


def _check_secrets(config: Config) -> None:
    """Check the secrets. Receivers know the webhook secret, so report tokens need another one."""
    for name in ("webhook_secret", "report_secret"):
        for secret in _split_secrets(getattr(config, name)):
            try:
                read_secret(secret)
            except KronError as error:
                raise bad_setting(name, "", "is malformed", error.hint) from None
    if config.public_url and not config.report_secret:
        hint = "set it to whsec_ and the base64 of 32 random bytes"
        raise bad_setting("report_secret", "", "is missing: PUBLIC_URL lets receivers report", hint)
    if {*map(read_secret, _split_secrets(config.report_secret))} & {
        *map(read_secret, _split_secrets(config.webhook_secret))
    }:
        raise bad_setting("report_secret", "", "is a WEBHOOK_SECRET, which receivers know", "use another secret")


def _split_secrets(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _check_files(config: Config) -> None:
    for name in FILE_SETTINGS:
        _check_readable(name, getattr(config, name))
    if config.jwks and "://" not in config.jwks and config.auth == "jwt":
        _check_readable("jwks", config.jwks)
    if config.audit_log and not Path(config.audit_log).absolute().parent.is_dir():
        raise bad_setting("audit_log", config.audit_log, "is in a folder that does not exist", "create the folder")
    if config.workflow_store not in ("", "store:") and not Path(config.workflow_store).is_dir():
        raise bad_setting(
            "workflow_store", config.workflow_store, "is not a folder", "use a folder, or store: with PostgreSQL"
        )
    if config.workflow_store == "store:" and config.store.partition(":")[0] not in POSTGRES:
        reason = "is available with PostgreSQL only"
        raise bad_setting(
            "workflow_store", config.workflow_store, reason, "use a PostgreSQL STORE, or set WORKFLOW_STORE to a folder"
        )


def _check_readable(name: str, path: str) -> None:
    if not path:
        return
    if not Path(path).is_file():
        raise bad_setting(name, path, "is not a file", "use the path of an existing file")
    if not os.access(path, os.R_OK):
        raise bad_setting(name, path, "is not readable by this user", "change its permissions or its owner")


def _check_tls(config: Config) -> None:
    if bool(config.tls_certificate) != bool(config.tls_key) or (config.tls_client_ca and not config.tls_key):
        missing = "tls_certificate" if config.tls_key else "tls_key"
        raise bad_setting(missing, "", "is missing", "set both TLS_CERTIFICATE and TLS_KEY")
    if config.tls_client_allowed_names and not config.tls_client_ca:
        raise bad_setting(
            "tls_client_allowed_names", config.tls_client_allowed_names, "needs TLS_CLIENT_CA", "set TLS_CLIENT_CA too"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        if config.tls_key:
            context.load_cert_chain(config.tls_certificate, config.tls_key)
    except OSError as error:
        reason = f"cannot be used with TLS_KEY ({error.strerror or error})"
        raise bad_setting("tls_certificate", config.tls_certificate, reason, "use matching PEM files") from None
    try:
        if config.tls_client_ca:
            context.load_verify_locations(config.tls_client_ca)
    except OSError as error:
        reason = f"contains no certificates ({error.strerror or error})"
        raise bad_setting("tls_client_ca", config.tls_client_ca, reason, "use a PEM file with certificates") from None


def _check_auth(config: Config) -> None:
    if config.auth == "none":
        if config.address[0] not in LOOPBACK:
            reason = f"is allowed on a loopback address only, and LISTEN is {config.listen!r}"
            raise bad_setting("auth", "none", reason, "listen on 127.0.0.1, or configure tokens (JWKS, ISSUER)")
        return
    for name in ("jwks", "issuer", "audience"):
        if not getattr(config, name):
            hint = "set JWKS and ISSUER, or AUTH=none on a loopback address"
            raise bad_setting(name, "", "is missing: tokens cannot be checked without it", hint)
    if "://" in config.jwks and not config.jwks.startswith("https://"):
        raise bad_setting("jwks", config.jwks, "is not protected by TLS", "use an https URL or a file")
