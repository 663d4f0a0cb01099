"""Schedules that readers return: a head with its rule for clock changes and its validity, checked for a first run."""

from __future__ import annotations

from kron.language.fault import Fault
from kron.language.plus import terms_of
from kron.timing.period import next_nominal
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.constraint import UNCONSTRAINED, Constraints
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.dst import AFTER_FIRST, WALL, Dst
from kron.timing.schedule.policy import Policy
from kron.timing.schedule.terms import ALWAYS, PLAIN, Valid
from kron.timing.zone import EARLIEST, Zone


def assemble(
    text: str,
    head: Head,
    zone: Zone,
    policy: Policy,
    dst: Dst,
    valid: Valid = ALWAYS,
    constraints: Constraints = UNCONSTRAINED,
) -> Schedule:
    """Return a schedule that runs at least once.

    Args:
        text: The whole text, at which a fault points.
        head: Cron fields, moments or an interval.
        zone: Time zone.
        policy: Policy of the schedule.
        dst: Rule for clock changes of cron fields. It is dropped in a zone whose clocks never change.
        valid: Validity.
        constraints: Constraints.
    """
    if isinstance(head, Cron):
        if not possible(head):
            raise _never(text, "no selected month has such a day", "choose a day that one of the months has")
        dst = WALL if zone.fixed is not None else dst
    else:
        dst = AFTER_FIRST
    terms = terms_of(head, dst, valid)
    schedule = Schedule(head, zone, policy=policy, constraints=constraints, terms=terms)
    if terms is not PLAIN and next_nominal(schedule, EARLIEST) is None:
        raise _never(text, "the schedule ends before its first run", "choose a later end")
    return schedule


def _never(text: str, reason: str, hint: str) -> Fault:
    details: dict[str, object] = {"field": "expression", "reason": "never occurs"}
    return Fault("NEVER", f"never runs: {reason}", 0, len(text), hint, details)
