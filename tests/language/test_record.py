"""Recorded decisions: all that is needed to compute them again, and the check that finds what is wrong."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import KronError, Period, decide, parse, to_record, verify
from kron.language.record import Difference
from kron.timing.decision import count_rejections
from kron.timing.schedule.sampling import Seed
from kron.timing.zone import instant_of, zone

GOLDEN = Path(__file__).parents[1] / "golden" / "decisions.jsonl"
ROWS = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
OUTPUTS = (
    "period_id",
    "nominal_time",
    "window_start",
    "window_end",
    "chosen_time",
    "timezone",
    "distribution",
    "seed_strategy",
    "seed_hash",
    "constraints_applied",
)


def made(text, period="2026-03-01T00:00:00Z", identity="prod/db-backup", **how):
    schedule = parse(text, dialect=how.pop("dialect", "kron"), **how)
    return to_record(decide(schedule, Period(instant_of(period)), identity))


@pytest.mark.req("KSPEC-OUT-DECISION", "KSPEC-TERM-DECISION", "KSPEC-SEED-CANON")
def test_a_recorded_decision_has_every_field_of_the_specification():
    text = "0 0 * * * @win(after,3h) @seed(stable,salt=backup) @only(hours=0-12) @avoid(date=2026-12-25)"
    assert made(text) == {
        "identity": "prod/db-backup",
        "dialect": "kron",
        "schedule": "0 0 * * * @win(after,3h) @seed(stable,salt=backup) @avoid(date=2026-12-25) @only(hours=0-12)",
        "timezone": "UTC",
        "tz": None,
        "tz_fingerprint": "eacdaa13",
        "period_id": "2026-03-01T00:00:00Z",
        "nominal_time": "2026-03-01T00:00:00Z",
        "window_start": "2026-03-01T00:00:00Z",
        "window_end": "2026-03-01T03:00:00Z",
        "chosen_time": "2026-03-01T02:32:20Z",
        "distribution": {"name": "uniform", "parameters": {}},
        "seed_strategy": {"name": "stable", "parameters": {"salt": "backup"}},
        "period_key": "2026-03-01T00:00:00Z",
        "seed_hash": "9c85657760a63b4d925af6088cceb2bb4448380b2e6856b203915a0a51ab5101",
        "constraints_applied": {"only": "hours=0-12", "avoid": "date=2026-12-25", "refused": {}},
        "attempts": 1,
        "outcome": None,
        "reason": None,
    }


@pytest.mark.req("KSPEC-OUT-DECISION")
def test_an_unschedulable_decision_says_so_and_which_clauses_were_against_it():
    found = made("0 10 * * * @win(after,1h) @only(hours=12) @avoid(dow=SUN)", "2026-03-02T10:00:00Z")
    assert (found["chosen_time"], found["outcome"], found["reason"]) == (None, "unschedulable", "constraints")
    assert found["attempts"] == 64
    assert found["constraints_applied"] == {"only": "hours=12", "avoid": "dow=SUN", "refused": {"only hours": 64}}


@pytest.mark.req("KSPEC-OUT-DECISION")
@pytest.mark.parametrize(
    ("window", "distribution", "parameters"),
    [
        ("after,1h", "uniform", {}),
        ("after,1h", "skewEarly", {"shape": 2.0}),
        ("after,1h", "skewLate,shape=1.5", {"shape": 1.5}),
        ("after,1h", "exponential", {"lambda": 1.0, "dir": "early"}),
        ("after,1h", "exponential,dir=late,lambda=0.8", {"lambda": 0.8, "dir": "late"}),
        ("after,1h", "normal", {"mu": "mid", "sigma": "10m"}),
        ("around,1h", "normal", {"mu": "nominal", "sigma": "10m"}),
        ("around,1h", "normal,mu=start,sigma=20m", {"mu": "start", "sigma": "20m"}),
    ],
)
def test_the_parameters_are_those_in_force_defaults_included(window, distribution, parameters):
    found = made(f"0 0 * * * @win({window}) @dist({distribution})")
    assert found["distribution"] == {"name": distribution.partition(",")[0], "parameters": parameters}


@pytest.mark.req("KSPEC-TIME-RFC3339")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['identity']}@{row['period_id']}")
def test_every_time_is_rfc_3339_in_utc(row):
    schedule = parse(row["schedule"], dialect=row["dialect"], timezone=row["timezone"])
    found = to_record(decide(schedule, Period(instant_of(row["period_id"])), row["identity"]))
    for field in ("period_id", "nominal_time", "window_start", "window_end", "chosen_time"):
        assert found[field] is None or RFC3339.fullmatch(found[field])
        assert field != "chosen_time" or not (found[field] and "." in found[field])


@pytest.mark.req("KSPEC-TIME-RFC3339")
def test_the_bounds_of_a_window_keep_their_nanoseconds():
    found = made("0 0 * * * @win(around,1h1m1s)")
    assert (found["window_start"], found["window_end"]) == ("2026-02-28T23:29:29.5Z", "2026-03-01T00:30:30.5Z")
    assert made("0 0 * * * @win(around,3ns)")["window_start"] == "2026-02-28T23:59:59.999999999Z"
    assert made("0 0 * * * @win(after,1500us)")["window_end"] == "2026-03-01T00:00:00.0015Z"


@pytest.mark.req("KSPEC-OBS-REPRO")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['identity']}@{row['period_id']}")
def test_the_line_of_a_log_is_enough_to_compute_the_decision_again(row):
    schedule = parse(row["schedule"], dialect=row["dialect"], timezone=row["timezone"])
    line = json.dumps(to_record(decide(schedule, Period(instant_of(row["period_id"])), row["identity"])))
    assert verify(line) == []
    assert verify(json.loads(line)) == []


FIELDS = ["0 0 * * *", "*/5 8-18 * * MON-FRI", "30 2 1,15 * *", "0 0 13 * FRI", "7 */3 * 2-11 *"]
ZONES = ["", "@tz(UTC)", "@tz(Europe/Paris)", "@tz(Asia/Kathmandu)", "@tz(Etc/UTC)"]
WINDOWS = ["", "@win(after,3h)", "@win(around,1h1m1s)", "@win(after,1ns)", "@win(after,720h)", "@win(around,250ms)"]
WAYS = ["", "@dist(normal)", "@dist(skewLate,shape=1e-3)", "@dist(exponential,dir=late)", "@dist(normal,sigma=1ns)"]
SEEDS = ["", "@seed(daily)", '@seed(weekly,salt="a \\"b\\" c")', "@seed(stable,salt=x)"]
LIMITS = ["", "@only(hours=0-20)", "@avoid(dow=SAT;between=22:00-06:00)", "@only(dom=1-20;months=JAN-NOV)"]


@pytest.mark.req("KSPEC-OBS-REPRO")
@settings(deadline=None)
@given(
    *map(st.sampled_from, (FIELDS, ZONES, WINDOWS, WAYS, SEEDS, LIMITS)),
    st.integers(0, 2 * 10**9),
    st.text("aé:/", min_size=1),
)
def test_any_decision_is_verified_from_its_record_alone(fields, zone, window, way, seed, limit, t, identity):
    text = " ".join(part for part in (fields, zone, window, way, seed, limit) if part)
    schedule = parse(text, dialect="kron")
    nominal = schedule.zone.first_after(schedule.cron.after, t)
    assert verify(json.dumps(to_record(decide(schedule, Period(nominal), identity)))) == []


TAMPERED = {
    "timezone": ["Europe/Paris", "Etc/UTC", "", None],
    "nominal_time": ["2026-03-02T00:00:00Z", "2026-03-01T00:00:00+00:00", None],
    "window_start": ["2026-03-01T00:00:01Z", None],
    "window_end": ["2026-03-01T02:59:59Z", "2026-03-01T03:00:00.000000001Z"],
    "chosen_time": ["2026-03-01T02:32:21Z", "2026-03-01T02:32:20.5Z", None, ""],
    "distribution": [
        {"name": "normal", "parameters": {}},
        {"name": "uniform", "parameters": {"shape": 2.0}},
        "uniform",
    ],
    "seed_strategy": [
        {"name": "daily", "parameters": {"salt": "backup"}},
        {"name": "stable", "parameters": {"salt": ""}},
    ],
    "period_key": ["2026-03-01", ""],
    "seed_hash": ["9c856577" * 8, "", "9c85657760a63b4d"],
    "constraints_applied": [{"only": None, "avoid": None, "refused": {"only hours": 1}}, None],
    "attempts": [0, 2, 64, "1", None],
    "outcome": ["unschedulable", "executed"],
    "reason": ["constraints"],
}


@pytest.mark.req("KSPEC-OBS-REPRO")
@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in TAMPERED.items() for value in values])
def test_a_tampered_field_is_found_by_its_name(field, value):
    right = made("0 0 * * * @win(after,3h) @seed(stable,salt=backup)")
    assert right[field] != value
    if field == "timezone" and value is None:
        with pytest.raises(KronError, match="field timezone is missing"):
            verify({**right, field: value})
    else:
        assert verify({**right, field: value}) == [Difference(field, value, right[field])]


def test_every_field_that_is_computed_was_tampered_with():
    computed = set(made("0 0 * * *"))
    inputs = {"identity", "dialect", "schedule", "period_id", "tz", "tz_fingerprint"}  # what it is computed from
    assert computed - set(TAMPERED) == inputs


@pytest.mark.parametrize(
    ("field", "value", "differs"),
    [
        ("identity", "prod/db-backup2", {"seed_hash", "chosen_time"}),
        (
            "period_id",
            "2026-03-02T00:00:00Z",
            {"nominal_time", "window_start", "window_end", "period_key", "seed_hash"},
        ),
        ("period_id", "2026-03-01T00:00:01Z", {"period_id"}),
        ("period_id", "2026-03-01T01:00:00+01:00", {"period_id"}),
        ("schedule", "0 0 * * * @win(after,4h) @seed(stable,salt=backup)", {"window_end", "chosen_time"}),
        ("schedule", "0 0 * * * @win(after,3h)", {"seed_strategy", "seed_hash", "chosen_time"}),
        ("schedule", "0 1 * * * @win(after,3h) @seed(stable,salt=backup)", {"period_id"}),
    ],
)
def test_another_question_does_not_fit_the_answer(field, value, differs):
    right = made("0 0 * * * @win(after,3h) @seed(stable,salt=backup)")
    assert {difference.field for difference in verify({**right, field: value})} >= differs


def test_the_text_of_the_schedule_need_not_be_canonical():
    right = made("0 0 * * * @win(after,3h)")
    assert verify({**right, "schedule": "00 0 * * * @dist(uniform) @win(after,180m) @tz(UTC)"}) == []


def test_another_release_may_record_more_or_less():
    right = made("0 0 * * * @win(after,3h)")
    assert verify({**right, "added later": 1}) == []
    assert verify({key: value for key, value in right.items() if key not in ("attempts", "period_key")}) == []


PARIS = "0 9 * * * @tz(Europe/Paris)"


def test_a_record_names_the_tz_database_of_its_zone():
    right = made(PARIS, "2026-03-01T08:00:00Z")
    assert (right["tz"], right["tz_fingerprint"]) == (zone("Europe/Paris").version, zone("Europe/Paris").fingerprint)
    assert re.fullmatch("[0-9a-f]{8}", right["tz_fingerprint"])
    assert "tz" in made("*/20 * * * * *", "2026-03-01T00:00:20Z", dialect="service")


def test_another_tz_database_that_gives_the_same_decision_is_no_difference():
    right = made(PARIS, "2026-03-01T08:00:00Z")
    assert verify({**right, "tz": "2019a", "tz_fingerprint": "00000000"}) == []


def test_another_tz_database_is_named_where_the_decision_differs():
    right = made(PARIS, "2026-03-01T08:00:00Z")
    other = {"tz": "2019a", "tz_fingerprint": "00000000"}
    named = [
        Difference("tz", "2019a", right["tz"]),
        Difference("tz_fingerprint", "00000000", right["tz_fingerprint"]),
    ]
    assert verify({**right, **other, "attempts": 7}) == [Difference("attempts", 7, 0), *named]
    moved = {"period_id": "2026-03-01T07:00:00Z"}
    assert verify({**right, **other, **moved}) == [Difference("period_id", "2026-03-01T07:00:00Z", None), *named]
    assert verify({**right, "tz_fingerprint": "00000000", "attempts": 7})[1:] == named[1:]
    assert verify({**right, "tz": "2019a", "attempts": 7}) == [Difference("attempts", 7, 0)]  # another name, same rules


def test_a_record_without_a_tz_database_is_verified_as_before():
    right = made(PARIS, "2026-03-01T08:00:00Z")
    older = {key: value for key, value in right.items() if key not in ("tz", "tz_fingerprint")}
    assert verify(older) == []
    assert verify({**older, "attempts": 7}) == [Difference("attempts", 7, 0)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("9" * 10_000, "not valid JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "field identity is missing"),
        ('{"identity": 1}', "field identity is missing"),
    ],
)
def test_what_is_no_decision_is_refused_with_the_reason(text, reason):
    with pytest.raises(KronError, match=reason) as error:
        verify(text)
    assert error.value.code == "NOT_A_DECISION"


@pytest.mark.parametrize("field", ["identity", "dialect", "schedule", *OUTPUTS])
def test_a_decision_without_one_of_its_fields_is_none(field):
    right = made("0 0 * * * @win(after,3h)")
    del right[field]
    with pytest.raises(KronError, match=f"field {field} is missing") as error:
        verify(right)
    assert error.value.code == "NOT_A_DECISION"


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("period_id", "yesterday", "NOT_A_DECISION"),
        ("period_id", "2026-03-01", "NOT_A_DECISION"),
        ("period_id", "2026-02-30T00:00:00Z", "NOT_A_DECISION"),
        ("identity", "", "NOT_A_DECISION"),
        ("identity", "a\nb", "NOT_A_DECISION"),
        ("identity", "\ud800", "NOT_A_DECISION"),
        ("schedule", "0 0 * *", "FIELD_COUNT"),
        ("schedule", "0 0 * * * @win(after,3x)", "BAD_DURATION"),
        ("dialect", "quartz", "UNKNOWN_DIALECT"),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error_of_ours(field, value, code):
    with pytest.raises(KronError) as error:
        verify({**made("0 0 * * * @win(after,3h)"), field: value})
    assert error.value.code == code


@pytest.mark.parametrize(
    "text", ["0 0 * * SUNL,SUN#1 @dst(once)", "at 2026-03-01T00:00Z", "every 24h from 2026-01-01T00:00"]
)
def test_a_plus_text_names_its_zone_so_another_zone_in_the_record_is_found(text):
    record = made(text, dialect="plus")
    assert (record["dialect"], verify(record)) == ("plus", [])
    assert verify(record | {"timezone": "Etc/UTC"}) == [Difference("timezone", "Etc/UTC", "UTC")]


@pytest.mark.req("KSPEC-OBS-REPRO")
def test_a_schedule_with_seconds_is_recorded_with_its_zone_and_verified_in_it():
    right = made("*/20 30 9 * * 1-5", "2026-03-01T22:30:20Z", "svc", dialect="service", timezone="Australia/Lord_Howe")
    assert (right["dialect"], right["timezone"]) == ("service", "Australia/Lord_Howe")
    assert right["schedule"] == "*/20 30 9 * * MON-FRI"
    assert verify(json.dumps(right)) == []
    assert verify({**right, "timezone": "UTC"}) == [Difference("period_id", "2026-03-01T22:30:20Z", None)]
    assert [d.field for d in verify({**right, "chosen_time": "2026-03-01T22:30:21Z"})] == ["chosen_time"]


@pytest.mark.parametrize(
    "salt", ["", " ", "a b", 'say "hi"', "back\\slash", "line\nfeed", "tab\t", "é🍐", ")", "a,b=c;d"]
)
def test_any_salt_survives_its_record(salt):
    schedule = replace(parse("0 0 * * * @win(after,3h)", dialect="kron"), seed=Seed(salt=salt))
    right = to_record(decide(schedule, Period(instant_of("2026-03-01T00:00:00Z")), "job"))
    assert right["seed_strategy"]["parameters"] == {"salt": salt}
    assert verify(json.dumps(right)) == []


def test_the_refusals_in_the_record_are_the_tally():
    schedule = parse("0 10 * * * @win(after,2h) @only(between=11:50-12:10) @avoid(between=12:00-12:00)", dialect="kron")
    decision = decide(schedule, Period(instant_of("2026-03-02T10:00:00Z")), "narrow")
    refused = to_record(decision)["constraints_applied"]["refused"]
    assert refused == count_rejections(decision)
    assert sum(refused.values()) == decision.draws - 1 > 0
