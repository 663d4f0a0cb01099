"""Store URLs in printable form: without passwords."""

from __future__ import annotations


def redacted(url: str) -> str:
    """Return a URL without its password and its parameters, however malformed it is."""
    if url.partition(":")[0] in ("memory", "sqlite"):
        return url
    plain = url.partition("?")[0] + ("?…" if "?" in url else "")
    before, at, after = plain.rpartition("@")
    if not at:
        return plain if "password" not in plain.lower() else "…"
    start, _, person = before.rpartition("//")
    name = person.partition(":")[0] if start else ""
    return f"{start}//{name}{':…' if ':' in person else ''}@{after}" if start else f"…@{after}"
