"""Plural: numbers with their nouns."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 schedule`, `2,000 schedules`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
