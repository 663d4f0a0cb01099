"""Seeds of tests that a campaign runs in full: the gate has the first ones."""

import pytest


def seeds(count: int, *, in_gate: int) -> list:
    """The numbers from 0 on, as parameters: the first ones are slow tests, and the others belong to the campaign."""
    marks = (pytest.mark.slow if seed < in_gate else pytest.mark.campaign for seed in range(count))
    return [pytest.param(seed, marks=mark) for seed, mark in enumerate(marks)]
