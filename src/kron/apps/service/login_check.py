"""Checks of the settings of the dashboard and its login."""

from __future__ import annotations

from urllib.parse import urlsplit

from kron.apps.browser_request import is_loopback
from kron.apps.service.config import DASHBOARD_PATH, Config
from kron.apps.service.config_error import bad_setting
from kron.errors import KronError
from kron.launchers.signature import read_secret

EXAMPLE = (
    "UI_ISSUER=https://login.example, UI_CLIENT_ID=kron, UI_URL=https://kron.example/ui and UI_SESSION_KEY=whsec_…"
)
KEY_HINT = "set it to whsec_ and the base64 of 32 random bytes, other than those of the other secrets"


def check_login(config: Config) -> None:
    """Raise CONFIG for the first unusable setting of the dashboard."""
    if config.auth == "none":
        if config.ui_issuer:
            hint = "set AUTH=jwt with JWKS and ISSUER, or remove UI_ISSUER"
            raise bad_setting("ui_issuer", config.ui_issuer, "has no effect with AUTH=none", hint)
        return
    has_login = any((config.ui_client_id, config.ui_url, config.ui_session_key))
    if not config.has_dashboard and (config.ui is False or not has_login):
        return
    for name in ("ui_issuer", "ui_client_id", "ui_url", "ui_session_key"):
        if not getattr(config, name):
            hint = f"set {EXAMPLE}, or UI=false"
            raise bad_setting(name, "", "is missing: with AUTH=jwt, people sign in to the dashboard", hint)
    for name in ("ui_issuer", "ui_url"):
        if not is_protected_url(getattr(config, name)):
            hint = "use an https URL, or for a trial http on a loopback address"
            raise bad_setting(name, getattr(config, name), "is not a URL that is protected by TLS", hint)
    if urlsplit(config.ui_url).path != DASHBOARD_PATH:
        raise bad_setting("ui_url", config.ui_url, f"does not end in {DASHBOARD_PATH}", "use https://HOST/ui")
    _check_session_key(config)
    _check_claims(config)


def is_protected_url(url: str) -> bool:
    """Return whether a URL has a host and TLS, or leads to this machine, and has no query or fragment."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    is_plain = parts.scheme == "http" and is_loopback(host)
    has_more = bool(parts.query or parts.fragment or parts.username or parts.password)
    return (
        bool(host) and (parts.scheme == "https" or is_plain) and not has_more and url.isprintable() and " " not in url
    )


def _check_session_key(config: Config) -> None:
    others = f"{config.webhook_secret} {config.report_secret}"
    try:
        keys = {read_secret(word) for word in _words(config.ui_session_key)}
    except KronError:
        raise bad_setting("ui_session_key", "", "is malformed", KEY_HINT) from None
    if keys & {read_secret(word) for word in _words(others)}:
        raise bad_setting("ui_session_key", "", "is a secret that others know", KEY_HINT)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _check_claims(config: Config) -> None:
    if "openid" not in config.ui_scopes:
        raise bad_setting("ui_scopes", config.ui_scopes, "does not contain openid", "add openid")
    for name in ("ui_name_claim", "ui_role_claim", "ui_viewer_values", "ui_operator_values"):
        if not getattr(config, name):
            raise bad_setting(name, "", "is empty: it decides who may do what", "remove the setting to use its default")
