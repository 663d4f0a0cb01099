"""Wrappers of functions: what an application opens before a call of a job, and closes after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]  # a decorator; the wrapper of an async function is async


def unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function itself."""
    return function
