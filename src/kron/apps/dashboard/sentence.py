"""Messages of Kron as sentences of a page: they begin with a capital letter and end with a period."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return a message as a sentence."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(("?", ".", "…")) else ".")
