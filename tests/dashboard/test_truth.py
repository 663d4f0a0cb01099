"""Truth of the ladder: 200 random schedules over nights in which clocks change.

What a page announces is what `kron next` prints. After the clock has moved on, what the page says of each period is
what the ledger has.
"""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from kron.apps.cli import main
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.timing.key import key_of
from kron.timing.schedule.policy import KRON, Overlap
from kron.timing.zone import instant_of, rfc3339
from tests.dashboard.served import dashboard_of, in_thread, served
from tests.dashboard.test_schedule import rows_of
from tests.engine.world import World

HOUR = 3_600
SCHEDULES = 25  # in each night
NIGHTS = [
    ("Europe/Paris", "2026-03-28T15:13:07Z"),
    ("Europe/Paris", "2026-10-24T15:13:07Z"),
    ("America/New_York", "2026-03-07T20:41:30Z"),
    ("America/New_York", "2026-10-31T20:41:30Z"),
    ("Australia/Lord_Howe", "2026-04-04T05:02:59Z"),  # half an hour
    ("Australia/Lord_Howe", "2026-10-03T05:02:59Z"),
    ("Pacific/Apia", "2011-12-29T14:20:00Z"),  # 30 December did not exist
    ("Pacific/Apia", "2011-04-02T04:20:00Z"),
]
MINUTES = ["0", "30", "*/20", "7,37", "59"]
HOURS = ["*", "*/2", "1-4", "2", "0,2,3", "23"]
DAYS = ["* * *", "* * SAT,SUN,MON", "*/2 * *"]
WINDOWS = [
    "",
    "",
    "@win(after,50m)",
    "@win(around,90m)",
    "@win(after,4h) @dist(skewLate)",
    "@win(around,3h) @dist(normal)",
]
POLICY = replace(KRON, overlap=Overlap.ALLOW)  # several windows can be open at once
LIMITS = ["", "", "", "@avoid(hours=2)", "@only(hours=1-5)"]


def schedules_of(zone, start):
    """Return random schedules of a night by their names, the same ones in every run."""
    dice, texts = random.Random(zone + start), {}
    for number in range(SCHEDULES):
        parts = [dice.choice(MINUTES), dice.choice(HOURS), dice.choice(DAYS), f"@tz({zone})"]
        window = dice.choice(WINDOWS)
        texts[f"job-{number}"] = " ".join([*parts, window, dice.choice(LIMITS) if window else ""]).strip()
    return texts


def announced(rows):
    """Return the chosen time of each coming period of a ladder, by its nominal time."""
    return {period: instant_of(chosen) for period, chosen, _, is_coming in rows if is_coming and chosen}


def printed(capsys, text, name, now):
    """Return the same of what `kron next` prints. It exits with 1 if there is no run."""
    status = main(["next", text, "--identity", name, "--at", rfc3339(now), "-n", "60", "-o", "json"])
    output = capsys.readouterr().out
    records = json.loads(output) if status == 0 else []
    return {instant_of(record["nominal_time"]): instant_of(record["chosen_time"]) for record in records}


def check_ledger(world, name, rows, began):
    """Check what the ladder says of past periods against the runs of the store. Return how many runs were checked."""
    past = [row for row in rows if not row[3]]
    runs = asyncio.run(world.store.runs_by_key([key_of(name, row[0]) for row in past]))
    for (nominal, chosen, words, _), run in zip(past, runs, strict=True):
        if run is None:
            earliest = instant_of(chosen) if chosen else nominal - 2 * HOUR  # or the start of its window
            assert min(nominal, earliest) < began, f"{name} {rfc3339(nominal)} has no record"
            assert words == "No runthe schedule was defined later"
        elif run.outcome is Outcome.UNSCHEDULABLE:
            assert (chosen, words.startswith("No valid time")) == (None, True)
        elif not run.open:
            assert (run.outcome, run.state) == (Outcome.EXECUTED, State.SUCCESS)
            assert (instant_of(chosen) * 1000, words.startswith("Succeeded")) == (run.due, True)
    return sum(run is not None for run in runs)


async def define(world, texts):
    for name, text in texts.items():
        await world.define(text, POLICY, identity=name)


@pytest.mark.parametrize(("zone", "start"), NIGHTS)
def test_ladder_equals_kron_next_and_then_the_ledger(zone, start, capsys):
    world, texts, checked = World(start, duration=5), schedules_of(zone, start), 0
    now = int(world.clock.now())
    in_thread(asyncio.run, define(world, texts))
    with served(dashboard_of(world.store)) as site:
        for name, text in texts.items():
            rows = rows_of(site.get(f"/schedules/{name}").text)
            expected, span = printed(capsys, text, name, now), range(rows[0][0], rows[-1][0] + 1)
            assert announced(rows) == {nominal: at for nominal, at in expected.items() if nominal in span}, text
        for hours in (9, 20):
            in_thread(asyncio.run, world.run(now + hours * HOUR))
            for name in texts:
                rows = rows_of(site.get(f"/schedules/{name}").text)
                checked += check_ledger(world, name, rows, now)
    assert checked > 4 * SCHEDULES, "hardly any period was checked"
