"""What a failover took along, as the receiver's log shows it: nothing is judged here, only counted."""

import json
from collections import Counter

RECORDS = "SELECT encode(idempotency_key, 'hex'), created_at, outcome, trigger_id <> '' FROM runs"
RECORDED = "SELECT created_at FROM runs"


def losses(pair, log):
    """Counts, by what they are of."""
    records = {key: rest for key, *rest in pair.sql(RECORDS, "kron")}
    first, times, attempts = {}, Counter(), Counter()
    for line in log.read_text(encoding="utf-8").splitlines():
        key, attempt, at, _ = json.loads(line)
        first.setdefault(key, at * 1000)
        times[key] += 1
        attempts[key, attempt] += 1
    known = {key: (at, *records[key]) for key, at in first.items() if key in records}
    return {
        "records lost and made anew: received before they were written": sum(
            created > at for at, created, _, _ in known.values()
        ),
        "records lost for good: received, and there is none": len(first) - len(known),
        "records made anew that say it did not run": sum(
            outcome not in ("executed", None) for _, _, outcome, _ in known.values()
        ),
        "keys received more than once": sum(n > 1 for n in times.values()),
        "keys received twice with one attempt": sum(n > 1 for n in attempts.values()),
        "keys received": len(first),
    }


def pauses(pair, log, kills):
    """For each kill, the seconds until a record was written again, and until something was received again.

    What is written after a kill is written by the next leader: there is nobody else who could.
    """
    written = sorted(at / 1000 for (at,) in pair.sql(RECORDED, "kron"))
    received = sorted(json.loads(line)[2] for line in log.read_text(encoding="utf-8").splitlines())
    found = []
    for kill in kills:
        record = next((at for at in written if at > kill), None)
        arrival = next((at for at in received if record is not None and at > record), None)
        found.append(tuple(at - kill if at is not None else None for at in (record, arrival)))
    return found
