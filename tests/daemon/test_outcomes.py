"""One krond, and jobs with each outcome, each concurrency policy, suspend and an edit: `make krond-outcomes`."""

import signal
import time
from collections import Counter

import pytest

from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.zone import rfc3339
from tests.daemon.krond import kron, until

EVERY_SECOND = "plus: * * * * * *"
NO_HOUR = "@win(after,1s) @avoid(hours=0-23)"  # leaves no time in the window
LONG = "trap 'exit 9' TERM; sleep 3 & wait"
OUTCOMES = {
    State.SUCCESS: Outcome.EXECUTED,
    State.FAILED: Outcome.EXECUTED,  # a replaced command can report its status before it is cancelled
    State.CANCELLED: Outcome.EXECUTED,
    State.SKIPPED: Outcome.SKIPPED,
    State.MISSED: Outcome.MISSED,
    State.UNSCHEDULABLE: Outcome.UNSCHEDULABLE,
}


def lines(krond, moment, edited=""):
    """The jobs of the table, before and after the edit."""
    suspend = "" if edited else "suspend=true,"
    terminated = f"trap 'echo $KRON_KEY >> {krond.folder}/terminated; exit 9' TERM; sleep 3 & wait"
    jobs = {
        "allowed": (f"{EVERY_SECOND} @policy(concurrency=allow,deadline=30s)", LONG),
        "forbidden": (f"{EVERY_SECOND} @policy(concurrency=forbid,deadline=30s)", LONG),
        "replaced": (f"{EVERY_SECOND} @policy(concurrency=replace,deadline=30s)", terminated),
        "impossible": (f"{EVERY_SECOND} {NO_HOUR} @policy(deadline=30s)", "true"),
        "late": (f"plus: at {rfc3339(moment)} @policy(deadline=1s)", "true"),
        "in-time": (f"plus: at {rfc3339(moment)} @policy(deadline=5m)", "true"),
        "suspended": (f"{EVERY_SECOND} @policy({suspend}concurrency=allow,deadline=1s)", "true"),
        "edited": (f"{EVERY_SECOND} @policy(concurrency=allow,deadline=30s)", f"true {edited}"),
    }
    noted = f"echo $KRON_KEY >> {krond.folder}"
    return [krond.job(name, f"{noted}/{name}; {command}", text) for name, (text, command) in jobs.items()]


def states(krond, name):
    return Counter(run.state for run in krond.runs(name))


def await_states(krond, name, **wanted):
    """Wait until a job has so many runs in each state."""
    until(lambda: all(states(krond, name)[State(state)] >= count for state, count in wanted.items()), 60)


def skips(krond, name):
    """Why runs of a job were skipped."""
    return {run.reason for run in krond.runs(name) if run.outcome is Outcome.SKIPPED}


def starts(krond, name):
    """The keys that the commands of a job have noted, in their order."""
    path = krond.folder / name
    return path.read_text().split() if path.exists() else []


def freeze(krond, moment):
    """Stop the daemon, which has read its table, until the deadline of one second after a moment has passed."""
    krond.send(signal.SIGSTOP)
    assert time.time() < moment, "the daemon took too long to start"
    until(lambda: time.time() > moment + 2)
    krond.send(signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.req("KSPEC-OUTC-EXECUTED", "KSPEC-OUTC-SKIPPED", "KSPEC-OUTC-MISSED", "KSPEC-OUTC-UNSCHED")
@pytest.mark.req("KSPEC-CONC-ALLOW", "KSPEC-CONC-FORBID", "KSPEC-CONC-REPLACE", "KSPEC-DEADLINE-AFTER")
@pytest.mark.req("KSPEC-DEADLINE-WITHIN", "KSPEC-TRIG-SUSPEND", "KSPEC-INV-6", "KSPEC-INV-7", "KSPEC-CHANGE-PAST")
def test_krond_gives_each_period_the_outcome_of_its_policy(krond):
    moment = int(time.time()) + 8  # late enough for a busy machine to start the daemon
    krond.write("table", *lines(krond, moment))
    krond.start()
    freeze(krond, moment)
    await_states(krond, "late", missed=1)
    await_states(krond, "in-time", success=1)
    await_states(krond, "impossible", unschedulable=2)
    await_states(krond, "forbidden", success=1, skipped=1)
    await_states(krond, "replaced", cancelled=1)
    until(lambda: starts(krond, "terminated"))
    await_states(krond, "edited", success=2)
    assert krond.runs("suspended") == [] and starts(krond, "suspended") == []
    seen = {run.key: run.state for run in krond.runs("edited") if not run.open}
    revision = krond.runs("edited")[0].revision
    krond.write("table", *lines(krond, moment, edited="again"))
    await_states(krond, "suspended", success=1)
    until(lambda: krond.runs("edited")[0].revision > revision and not krond.runs("edited")[0].open)
    assert krond.stop() == 0
    examine(krond)
    assert seen.items() <= {run.key: run.state for run in krond.runs("edited")}.items()
    audit = kron("audit", "--store", f"sqlite:{krond.state}")
    assert audit.returncode == 0, audit.stdout


def examine(krond):
    """Compare the records with what the commands have noted."""
    for name in ("allowed", "forbidden", "replaced", "impossible", "late", "in-time", "suspended", "edited"):
        executed = {run.key for run in krond.runs(name) if run.outcome is Outcome.EXECUTED}
        noted = starts(krond, name)
        assert len(noted) == len(set(noted)) and set(noted) <= executed, name
        assert {run.key for run in krond.runs(name) if run.state is State.SUCCESS} <= set(noted), name
        ended = [run for run in krond.runs(name) if not run.open]
        assert {run.state: run.outcome for run in ended} == {run.state: OUTCOMES[run.state] for run in ended}, name
    for name, reason in (("impossible", Reason.CONSTRAINTS), ("late", Reason.DEADLINE)):
        assert starts(krond, name) == [] and {run.reason for run in krond.runs(name)} == {reason}
    replaced = {run.key for run in krond.runs("replaced") if run.state in (State.CANCELLED, State.FAILED)}
    assert set(starts(krond, "terminated")) <= replaced
    assert skips(krond, "allowed") == set() and skips(krond, "forbidden") == {Reason.OVERLAP}
    assert skips(krond, "replaced") <= {Reason.REPLACED}  # those that waited while the daemon was stopped
    assert _most_at_once(krond, "allowed") > 1
    assert _most_at_once(krond, "forbidden") == 1


def _most_at_once(krond, name):
    """How many runs of a job were in progress at the same time; a run that has not ended is in progress."""
    runs = [run for run in krond.runs(name) if run.outcome is Outcome.EXECUTED]
    ends = [(run.changed if not run.open else 1 << 60, -1) for run in runs]
    level = most = 0
    for _, step in sorted([*ends, *((run.sent, 1) for run in runs)]):
        level += step
        most = max(most, level)
    return most
