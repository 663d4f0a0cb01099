"""Pytest plugin: fixtures for virtual time and for assertions about schedules. Each fixture imports its code on use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def travel() -> Iterator[Callable[[str], Any]]:
    """Return `kron.testing.travel`, for times such as `2026-03-08 01:59 America/New_York`. Closed after the test."""
    from kron.testing import time_travel

    trips: list[time_travel.VirtualTime] = []

    def start_travel(text: str) -> time_travel.VirtualTime:
        trips.append(time_travel.travel(text))
        return trips[-1]

    yield start_travel
    for trip in trips:
        trip.close()


@pytest.fixture
def assert_fires() -> Callable[..., None]:
    """Return `kron.testing.assert_fires`."""
    from kron.testing import assertions

    return assertions.assert_fires


@pytest.fixture
def assert_survives() -> Callable[..., str]:
    """Return `kron.testing.assert_survives`."""
    from kron.testing import assertions

    return assertions.assert_survives
