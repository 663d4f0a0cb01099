"""The simulator on a few seeds, its determinism, and, slowly, on a thousand cluster-hours."""

import os
import subprocess
import sys

import pytest

from kron.engine.audit import audit
from kron.stores.memory import MemoryStore
from tests.docs.page import ROOT
from tests.simulation.campaign import campaign, play
from tests.simulation.checker import check
from tests.simulation.setting import setting
from tests.simulation.world import World


@pytest.mark.parametrize("seed", [2, 3, 6, 40])
def test_a_seed_breaks_no_rule(seed):
    assert play(seed).found == []


def test_one_seed_is_one_history():
    once, again = World(setting(42)).run(), World(setting(42)).run()
    assert once.history.lines() == again.history.lines()


def digest(seed, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.simulation", "seed", str(seed)]
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return next(line for line in told.stdout.splitlines() if line.startswith("digest"))


def test_a_history_does_not_depend_on_the_order_of_sets():
    assert digest(42, "1") == digest(42, "2")


def test_the_users_audit_finds_what_the_checker_finds():
    """Nothing, after a storm; and the period that somebody takes out of the ledger."""
    stores = []

    class Kept(MemoryStore):
        def __init__(self, clock):
            super().__init__(clock)
            stores.append(self)

    from tests.simulation.world import Parts

    world = World(setting(41), Parts(store=Kept))
    assert check(world.run()) == []
    accounts = {account.identity: account for account in _run(_all(stores[0]))}
    assert accounts
    assert all(account.sound for account in accounts.values())
    identity, key, run = next(
        (identity, key, run)
        for identity in accounts
        for key, run in stores[0].ledger[identity].items()
        if not run.trigger and not run.open and run.revision == accounts[identity].revision
        if run.nominal * 1000 > accounts[identity].since  # which is what the audit goes through
    )
    del stores[0].ledger[identity][key]
    (found,) = [account for account in _run(_all(stores[0])) if not account.sound]
    assert found.unexplained == (run.nominal,)


async def _all(store):
    return [account async for account in audit(store)]


def _run(coroutine):
    from kron.testing import run

    return run(coroutine)


@pytest.mark.campaign
def test_a_thousand_cluster_hours():
    tally = campaign(range(1, 136), show=False)
    assert tally.broken == []
    assert tally.hours > 1_000
    assert tally.interruptions > 10_000
