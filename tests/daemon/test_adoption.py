"""Adoption: a daemon that was away for longer than the lease of a run still knows that its command lives."""

import time
from dataclasses import replace

from kron import parse
from kron.engine.registrar import Registrar
from kron.rules.run_state import State
from kron.timing.job import Command, Job
from kron.timing.schedule.policy import SECOND
from tests.daemon.krond import soon, until


def test_run_whose_lease_expired_during_the_downtime_is_not_lost(krond, tmp_path):
    """The first pass must not be faster than the first sign of life of the command."""
    krond.write("table", krond.job("a", "true", "0 0 1 1 *"))
    schedule = parse(soon().removeprefix("plus: "), dialect="plus")
    schedule = replace(schedule, policy=replace(schedule.policy, run_lease=SECOND))
    line = f"echo x >> {tmp_path}/out; while [ ! -e {tmp_path}/end ]; do sleep 0.05; done"
    job = Job("team/job", schedule, command=Command(line, env=(("OF_TEST", str(tmp_path)),)), target="command:")
    assert krond.run("--once").returncode == 0
    krond.ask(lambda store: Registrar(store).upsert(job))
    krond.start()
    until(lambda: krond.events("launch_completed"))
    krond.kill()
    time.sleep(2)
    krond.start()
    time.sleep(1)
    (tmp_path / "end").touch()
    until(lambda: krond.events("run_finished"))
    (run,) = krond.ask(lambda store: store.runs("team/job", 10))
    assert (run.state, (tmp_path / "out").read_text()) == (State.SUCCESS, "x\n")
