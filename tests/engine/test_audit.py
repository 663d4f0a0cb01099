"""The audit: sound after any history of edits, and it finds what was taken out of it."""

import pytest

from kron.engine.audit import audit
from kron.errors import KronError
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.engine.test_handover import EARLY, LATE, edited, scenario
from tests.engine.world import World, play


async def audits(store, *names):
    return [one async for one in audit(store, names or None)]


@pytest.mark.parametrize("part", range(3))
def test_audit_is_sound_after_any_edits_and_finds_each_missing_record(part):
    async def check(seed):
        world, oracle = await scenario(seed)
        (one,) = await audits(world.store, "job")
        assert one.sound, f"seed {seed}: {one}"
        ledger = world.store.ledger.get("job", {})
        for key in [key for key, run in ledger.items() if run.nominal <= one.cursor and not run.open][:5]:
            run = ledger.pop(key)
            (again,) = await audits(world.store, "job")
            owed = oracle.required.get(run.nominal)
            early = run.nominal * 1000 > run.created and run.revision != one.revision
            inside = any(gap.first <= run.nominal <= gap.last for gap in one.gaps)  # a gap says how many, not which
            assert again.unexplained == (run.nominal,) or early or inside, f"seed {seed}: {run} {owed}"
            ledger[key] = run

    for seed in range(part * 60, part * 60 + 60):
        play(check(seed))


def test_audit_finds_a_period_lost_by_an_edit_inside_a_window():
    async def script():
        world = await edited(LATE, EARLY)
        world.store.ledger["job"].clear()
        (one,) = await audits(world.store)
        assert len(one.unexplained) == 1

    play(script())


def test_audit_finds_a_period_whose_key_is_taken():
    async def script():
        world = World("2026-03-01T11:30:00Z")
        await world.define("0 * * * *")
        await world.define("0 * * * *", identity="other")
        world.sleep("2026-03-01T12:00:05Z")
        case = await world.registrar.get("job")
        nominal = 1_772_366_400
        key = key_of("job", nominal)
        world.store.ledger["other"] = {key: Run(key, "other", nominal, 1, 0, State.SUCCESS, "one")}
        world.store.owner_of[key] = "other"
        (one,) = await audits(world.store, "job")
        assert case.cursor < nominal
        assert one.taken == (nominal,)
        assert not one.sound

    play(script())


def test_audit_of_an_unknown_schedule_is_refused():
    async def script():
        world = World("2026-03-01T11:30:00Z")
        with pytest.raises(KronError, match="NOT_FOUND"):
            await audits(world.store, "nobody")

    play(script())
