"""The published decisions of Kron's sampling, reproduced row by row."""

import json
from pathlib import Path

import pytest

from kron.language.duration import read_duration
from kron.timing.calendar import Date, day_of
from kron.timing.decision import decide
from kron.timing.period import Period
from kron.timing.schedule import Schedule
from kron.timing.schedule.constraint import Clauses, Constraints
from kron.timing.schedule.cron import HOURS, MINUTES, Cron
from kron.timing.schedule.sampling import Seed, SkewEarly, SkewLate, Strategy, Uniform
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import instant_of, rfc3339, zone

VECTORS = Path(__file__).parents[1] / "vectors" / "kron_decisions.jsonl"
ROWS = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
SHAPES = {"uniform": Uniform, "skewEarly": SkewEarly, "skewLate": SkewLate}


def bits(values):
    return sum(1 << value for value in values)


def day(number):
    return day_of(Date(number // 10000, number // 100 % 100, number % 100))


def clauses(row, prefix):
    if not any(key.startswith(prefix) for key in row):
        return None
    return Clauses(
        bits(row.get(prefix + "Hours", ())),
        bits(row.get(prefix + "Dow", ())),
        bits(row.get(prefix + "Dom", ())),
        bits(row.get(prefix + "Months", ())),
        tuple((b["startMinute"], b["endMinute"]) for b in row.get(prefix + "Between", ())),
        tuple((day(d["startDay"]), day(d["endDay"])) for d in row.get(prefix + "Dates", ())),
    )


def schedule_of(row):
    shape = {"shape": row["skewShape"]} if "skewShape" in row else {}
    return Schedule(
        Cron(MINUTES, HOURS),
        zone(row.get("timezone", "UTC")),
        Window(Mode(row["mode"]), read_duration(row["window"])),
        SHAPES[row["distribution"]](**shape),
        Seed(Strategy(row["seedStrategy"]), row["salt"]),
        Constraints(clauses(row, "only"), clauses(row, "avoid")),
    )


def test_there_are_21_rows():
    assert len(ROWS) == 21


@pytest.mark.req("KSPEC-COMPAT-STABLE", "KSPEC-INV-3", "KSPEC-SEED-CRYPTO", "KSPEC-SEED-HASH", "KSPEC-SEED-PRNG")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_published_decision_is_reproduced(row):
    decision = decide(schedule_of(row), Period(instant_of(row["periodStart"])), row["identity"])
    expected = row["expected"]
    assert decision.period.id == expected["periodId"]
    assert decision.period_key == expected["periodKey"]
    assert decision.seed_hash == expected["seedHash"]
    # the published rows show the second that a bound lies in; the bounds themselves are exact to the nanosecond
    assert rfc3339(decision.window.start // SECOND) == expected["windowStart"]
    assert rfc3339(decision.window.end // SECOND) == expected["windowEnd"]
    assert ("" if decision.chosen is None else rfc3339(decision.chosen)) == expected["chosenTime"]
    assert decision.draws == expected["attempts"]
    assert decision.unschedulable == expected.get("unschedulable", False)
