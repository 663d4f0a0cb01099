"""Idempotency keys."""

from __future__ import annotations

import json
from hashlib import sha256


def key_of(identity: str, nominal: int, trigger: str = "") -> str:
    """Return the idempotency key of a run: the same for every attempt, worker, revision and release.

    The key of a period hashes a text that ends in a digit. The key of a manual trigger hashes a text that ends in a
    bracket. So a manual trigger cannot take the key of a period, whatever characters the identity and the request have.

    Args:
        identity: Identity of the schedule.
        nominal: Nominal time, in seconds since 1970-01-01 UTC.
        trigger: Name of the manual request; empty for a period of the calendar.
    """
    name = f"{identity}:{nominal}" if not trigger else json.dumps([identity, nominal, trigger])
    return sha256(name.encode()).hexdigest()
