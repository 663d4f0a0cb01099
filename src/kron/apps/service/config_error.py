"""Error of one setting: the setting, its value and what is allowed. The value of a secret is never shown."""

from __future__ import annotations

from typing import Any

from kron.apps.redacted import redacted
from kron.errors import InvalidSetting

SECRET_SETTINGS = frozenset({"webhook_secret", "report_secret", "ui_client_secret", "ui_session_key"})


def bad_setting(name: str, value: object, reason: str, hint: str) -> InvalidSetting:
    """Return the error of one setting. The value of a secret is never shown."""
    value_text = (
        "" if name in SECRET_SETTINGS else f" {redacted(str(value))!r}" if name == "store" else f" {_clipped(value)}"
    )
    return InvalidSetting(
        "CONFIG", f"the setting {name.upper()}{value_text} {reason}", hint=hint, details={"setting": name}
    )


def unavailable_address(listen: str, error: OSError) -> InvalidSetting:
    """Return the error of an address on which a process cannot listen."""
    reason = f"is not available ({error.strerror or error})"
    return bad_setting("listen", listen, reason, "use another address or port: --listen HOST:PORT")


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
