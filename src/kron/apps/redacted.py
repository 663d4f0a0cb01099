"""Store URLs in printable form: without passwords."""

from __future__ import annotations


def redacted(url: str) -> str:
    """Return a URL without its password and its parameters, however malformed it is."""
    if url.partition(":")[0] in ("memory", "sqlite") and "@" not in url:
        return url
    without_parameters = url.partition("?")[0] + ("?…" if "?" in url else "")
    before, at, after = without_parameters.rpartition("@")
    if not at:
        return without_parameters if "password" not in without_parameters.lower() else "…"
    start, _, user = before.rpartition("//")
    name = user.partition(":")[0] if start else ""
    return f"{start}//{name}{':…' if ':' in user else ''}@{after}" if start else f"…@{after}"
