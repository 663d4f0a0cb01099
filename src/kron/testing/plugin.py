"""The pytest plugin: time travel, and claims about schedules, as fixtures. It loads the rest when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def travel() -> Iterator[Callable[[str], Any]]:
    """A trip to a moment such as `2026-03-08 01:59 America/New_York`; every trip ends with the test."""
    from kron.testing import trip

    trips: list[trip.Trip] = []

    def go(text: str) -> trip.Trip:
        trips.append(trip.travel(text))
        return trips[-1]

    yield go
    for one in trips:
        one.end()


@pytest.fixture
def assert_fires() -> Callable[..., None]:
    """Whether a schedule fires at exactly these times."""
    from kron.testing import claims

    return claims.assert_fires


@pytest.fixture
def assert_survives() -> Callable[..., str]:
    """Whether every period has an answer though nobody is there for a while."""
    from kron.testing import claims

    return claims.assert_survives
