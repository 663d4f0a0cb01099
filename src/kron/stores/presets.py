"""Presets: named policies of a process. A preset fills in what the author of a stored schedule left open."""

from __future__ import annotations

from kron.timing.schedule.policy import SERVICE, Policy


class Presets:
    """Policies by name. Two instances are never equal, so a cache can hold them by identity."""

    def __init__(self, **policies: Policy) -> None:
        self._policies = policies

    def named(self, name: str) -> Policy:
        """Return the policy of a name.

        Raises:
            ValueError: This process has no preset of that name.
        """
        if name not in self._policies:
            raise ValueError(f"unknown preset {name!r}")
        return self._policies[name]


BUILT_IN = Presets(service=SERVICE)
