"""What the ledger and the receiver's log say, and whether they agree."""

import json
from collections import Counter
from dataclasses import dataclass, field

from kron.engine.audit import audit
from kron.rules import run_state
from kron.timing.schedule.policy import WorkerLossPolicy
from tests.campaigns.chaos.schedules import policy_of

ACTIVE = {state.value for state in run_state.ACTIVE}
DROPPED = "dropped"  # in the receiver's log: a request that arrived, and had no effect and no answer

LEDGER = """
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, fire_at, created_at, updated_at, status, outcome, reason,
       attempt, open, trigger_id, open AND not_before > kron_now() AND wake <= not_before
FROM runs LEFT JOIN schedule_state USING (tenant_id, schedule_id)
"""


@dataclass
class Findings:
    """What went as it should, and what did not."""

    periods: int = 0
    arrivals: int = 0
    again: int = 0
    outcomes: Counter = field(default_factory=Counter)
    lost: list = field(default_factory=list)
    missed: list = field(default_factory=list)
    doubt: list = field(default_factory=list)  # sent at most once, by a worker that was killed: it cannot be known
    dropped: list = field(default_factory=list)  # sent: the target had the request, and dropped it without an answer
    doubled: list = field(default_factory=list)
    unexplained: list = field(default_factory=list)
    changed: list = field(default_factory=list)
    late: Counter = field(default_factory=Counter)
    lateness: list = field(default_factory=list)

    @property
    def good(self):
        return not (self.lost or self.missed or self.doubled or self.unexplained or self.changed)


async def examine(store, server, database, log, snapshots, calm, faults, progress):
    """Compare everything. Nobody may have been left alone since `calm` (milliseconds): every lease has ended since."""
    found = Findings()
    arrivals, departed = Counter(), set()
    for text in log.read_text(encoding="utf-8").splitlines():
        key, _, _, what = json.loads(text)
        if what == DROPPED:
            departed.add(key)
            continue
        arrivals[key] += 1
        found.again += arrivals[key] > 1
    found.arrivals = len(arrivals)
    rows = server.sql(LEDGER, database)
    keys = Counter(row[0] for row in rows)
    found.doubled += [("recorded twice", key) for key, n in keys.items() if n > 1]
    found.unexplained += [("an effect without a record", key) for key in arrivals if key not in keys]
    busy = {row[1] for row in rows if (row[9] and row[5] >= calm) or row[12]}  # another run was heard of, or will be
    active = {row[1] for row in rows if row[6] in ACTIVE and row[5] >= calm}  # a run that somebody looks after goes on
    for row in rows:
        judge(row, arrivals[row[0]], row[0] in departed, calm, busy, active, found)
        _late(row, faults, found)
    ends = {row[0]: row[6:9] for row in rows}
    found.changed += [(key, before, ends.get(key)) for key, before in snapshots.items() if ends.get(key) != before]
    seen = 0
    async for account in audit(store):
        seen += 1
        found.periods += account.periods
        found.unexplained += [(account.identity, nominal) for nominal in account.unexplained]
        found.doubled += [(account.identity, nominal) for nominal in account.twice]
        if seen % 1000 == 0:
            progress(f"audited {seen}")
    return found


def judge(row, arrivals, departed, calm, busy, active, found):
    """Note what is wrong with one run of the ledger."""
    key, name, run_at, _, _, updated, status, outcome, reason, attempt, is_open, trigger, has_its_time = row
    about = (name, run_at, trigger, status, outcome, reason, attempt, arrivals, key[:8])
    found.outcomes[("open, " if is_open else "") + (outcome or status) + (f" ({reason})" if reason else "")] += 1
    its_turn_will_come = (status == "pending" and name in busy) or (status == "waiting" and name in active)
    if is_open and updated < calm and not its_turn_will_come and not has_its_time:
        found.unexplained.append((*about, "it is not over, and nobody looks after it"))
    if outcome == "executed" and not arrivals:
        once = reason == "unknown" and policy_of(name).on_worker_loss is WorkerLossPolicy.LOST
        left = found.dropped if reason == "unknown" and departed else found.lost
        (found.doubt if once else left).append((*about, "executed, and nobody received it"))
    if reason == "catchup_none":
        found.missed.append((*about, "missed, though a worker lived within its grace"))
    if outcome not in ("executed", None) and arrivals:
        found.unexplained.append((*about, "it was received"))
    if arrivals > attempt or (policy_of(name).on_worker_loss is WorkerLossPolicy.LOST and arrivals > 1):
        found.doubled.append((*about, "sent more often than it may be"))


def _late(row, faults, found):
    """How late a run was recorded, and what had gone wrong shortly before it was due."""
    _, _, _, fire_at, created, _, _, _, _, _, _, trigger, _ = row
    if trigger:
        return
    late = created - fire_at
    found.lateness.append(late)
    if late > 2_000:
        about = [what for at, what in faults if fire_at / 1000 - 25 < at < created / 1000]
        found.late[about[-1] if about else "no fault nearby"] += 1
