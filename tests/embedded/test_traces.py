"""What the scheduler does, held against the rules of the document on random traces."""

import logging

import pytest

from tests.embedded.faults import FAULTS, planted
from tests.embedded.traces import examine, violations
from tests.seeds import seeds

RULES = (
    *(f"DECL-THEORY-{rule}" for rule in ("REF", "S1", "S2", "S3", "S4", "S5", "S6", "L1", "L2", "L3")),
    "DECL-THEORY-DUEPENDING",
    "DECL-THEORY-FIRSTCOMING",
    "DECL-SCOPE-IN",
)


@pytest.mark.req(*RULES)
@pytest.mark.parametrize("part", seeds(10, in_gate=2))
def test_no_trace_breaks_a_rule(part):
    seen, wrong = examine(part * 500, 500)
    assert wrong == []
    assert seen["end"] == 500
    assert min(seen[what] for what in ("start", "retry", "preempted", "crash", "jump", "stopped", "init failed")) > 50


def test_some_traces_break_no_rule():
    _, wrong = examine(1_000_000, 60)
    assert wrong == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_within_500_traces(fault):
    logging.disable(logging.CRITICAL)
    with planted(fault):
        assert next(violations(range(500)), None), f"{fault} was not found"


@pytest.fixture(autouse=True)
def _quiet():
    yield
    logging.disable(logging.NOTSET)
