"""Readers of schedule texts that other schedulers use. Each reads a text into a Schedule.

Such a text is never stored: a schedule that a reader returns is shown and stored by its canonical text, in the kron,
service or plus dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import Policy
from kron.timing.zone import Zone


class Reader(Protocol):
    """Function that reads the text of another scheduler."""

    def __call__(self, text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
        """Return the schedule of a text. `zone` applies unless the text names one.

        Raises:
            Fault: The text is invalid, or Kron cannot express it exactly.
        """
        ...


def _read_vixie(text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
    from kron.language.foreign import vixie  # deferred: rarely needed

    return vixie.read(text, zone, policy)


def _read_quartz(text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
    from kron.language.foreign import quartz

    return quartz.read(text, zone, policy)


def _read_aws(text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
    from kron.language.foreign import aws

    return aws.read(text, zone, policy)


def _read_rrule(text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
    from kron.language.foreign import rrule

    return rrule.read(text, zone, policy)


def _read_jenkins(text: str, zone: Zone, identity: str, policy: Policy) -> Schedule:
    from kron.language.foreign import jenkins

    return jenkins.read(text, zone, identity, policy)


READERS: Mapping[str, Reader] = {
    "vixie": _read_vixie,
    "quartz": _read_quartz,
    "aws": _read_aws,
    "rrule": _read_rrule,
    "jenkins": _read_jenkins,
}
