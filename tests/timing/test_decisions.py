"""Decisions: computed again by hand, in other processes, by other interpreters, and for ever."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from math import exp, floor, log
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from kron import Decision, KronError, Period, decide, parse, periods, to_record, verify
from kron.language.manifest import define
from kron.timing.decision import candidates, period_key, violated_clause
from kron.timing.period import next_nominal
from kron.timing.schedule.sampling import Seed, draw, draws
from kron.timing.tzdata import host_databases
from kron.timing.zone import instant_of, moment, rfc3339

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "decisions.jsonl"
MARCH = instant_of("2026-03-01T00:00:00Z")


def kron(text):
    return parse(text, dialect="kron")


# By hand: the steps of the specification in their order, with nothing of Kron but the parser.


def splitmix64(seed, count):
    state, out = seed, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        out.append(z ^ (z >> 31))
    return out


def place(name, parameters, u, mode, duration):
    match name:
        case "skewEarly":
            return u ** parameters.get("shape", 2.0)
        case "skewLate":
            return 1 - (1 - u) ** parameters.get("shape", 2.0)
        case "exponential":
            rate = parameters.get("lambda", 1.0)
            x = -log(1 - u * (1 - exp(-rate))) / rate
            return x if parameters.get("dir", "early") == "early" else 1 - x
        case "normal":
            nominal = 0.0 if mode == "after" else 0.5
            mean = {"start": 0.0, "mid": 0.5, "end": 1.0, "nominal": nominal}[parameters.get("mu", "mid")]
            spread = parameters["sigma"] / duration if "sigma" in parameters else 1 / 6
            low, high = ndtr(-mean / spread), ndtr((mean - 1) / spread)
            kept = 1 - low - high
            if kept < 1e-5:
                return u
            below, above = low + u * kept, high + (1 - u) * kept
            z = ndtri(below) if below <= above else -ndtri(above)
            return min(1.0, max(0.0, mean + spread * z))
        case _:
            return u


def by_hand(*, identity, nominal, zone, mode, duration, name, parameters, strategy, salt, hours):
    second = 10**9
    start = nominal * second - (duration // 2 if mode == "around" else 0)
    end = nominal * second + (duration // 2 if mode == "around" else duration)
    local = datetime.fromtimestamp(nominal, UTC).astimezone(ZoneInfo(zone))
    year, week, _ = local.isocalendar()
    period_id = datetime.fromtimestamp(nominal, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    keys = {"stable": period_id, "daily": local.strftime("%Y-%m-%d"), "weekly": f"{year}-W{week:02d}"}
    seed = hashlib.sha256(f"{identity}\n{keys[strategy]}\n{salt}".encode()).hexdigest()
    origin, width = start // second, end // second - start // second
    tried = [nominal]
    if duration:
        us = [(z >> 11) / 2**53 for z in splitmix64(int.from_bytes(bytes.fromhex(seed)[:8], "big"), 64)]
        offsets = [min(width, floor(place(name, parameters, u, mode, duration) * (width + 1))) for u in us]
        tried = [max(origin + offset, -(-start // second)) for offset in offsets]
    chosen, attempts = None, 64
    for n, t in enumerate(tried, 1):
        if datetime.fromtimestamp(t, UTC).astimezone(ZoneInfo(zone)).hour in hours:
            chosen, attempts = t, n
            break
    return (start, end), keys[strategy], seed, chosen, attempts if duration else 0


SECOND = 10**9
PARAMETERS = st.one_of(
    st.just(("uniform", {})),
    st.tuples(
        st.sampled_from(["skewEarly", "skewLate"]), st.fixed_dictionaries({}, optional={"shape": st.floats(0.1, 9)})
    ),
    st.tuples(
        st.just("exponential"),
        st.fixed_dictionaries({}, optional={"lambda": st.floats(0.1, 9), "dir": st.sampled_from(["early", "late"])}),
    ),
    st.tuples(
        st.just("normal"),
        st.fixed_dictionaries(
            {},
            optional={
                "mu": st.sampled_from(["nominal", "start", "mid", "end"]),
                "sigma": st.integers(1, 86_400).map(lambda seconds: seconds * SECOND),
            },
        ),
    ),
)


@pytest.mark.req(
    "KSPEC-DEC-STEPS",
    "KSPEC-SEED-HASH",
    "KSPEC-SEED-PRNG",
    "KSPEC-SEED-STABLE",
    "KSPEC-SEED-DAILY",
    "KSPEC-SEED-WEEKLY",
    "KSPEC-TERM-DECISION",
    "KSPEC-DIST-MAP",
)
@settings(deadline=None, max_examples=300)
@given(
    st.text("aé/-:", min_size=1),
    st.integers(instant_of("1971-01-01T00:00:00Z"), instant_of("2090-01-01T00:00:00Z")).map(lambda t: t // 60 * 60),
    st.sampled_from(["UTC", "Europe/Paris", "Asia/Kathmandu", "America/Los_Angeles", "Australia/Lord_Howe"]),
    st.sampled_from(["after", "around"]),
    st.integers(0, 3) | st.integers(0, 200_000).map(lambda ms: ms * 10**6) | st.integers(0, 90_000 * SECOND),
    PARAMETERS,
    st.sampled_from(["stable", "daily", "weekly"]),
    st.text('ab "\\é\n', max_size=5),
    st.sets(st.integers(0, 23), min_size=1),
)
def test_every_step_of_a_decision_is_what_one_gets_by_hand(
    identity, nominal, zone, mode, duration, distribution, strategy, salt, hours
):
    name, parameters = distribution
    job = define(
        {
            "identity": identity,
            "schedule": "* * * * *",
            "timezone": zone,
            "window_mode": mode,
            "window_duration": f"{duration}ns",
            "distribution": {
                "name": name,
                **parameters,
                **({"sigma": f"{parameters['sigma']}ns"} if "sigma" in parameters else {}),
            },
            "seed_strategy": strategy,
            "salt": salt,
            "constraints": {"only": "hours=" + ",".join(map(str, hours))},
        }
    )
    decision = decide(job.schedule, Period(nominal), job.identity)
    window, key, seed, chosen, attempts = by_hand(
        identity=identity,
        nominal=nominal,
        zone=zone,
        mode=mode,
        duration=duration,
        name=name,
        parameters=parameters,
        strategy=strategy,
        salt=salt,
        hours=hours,
    )
    assert tuple(decision.window) == window
    assert decision.period_key == key
    assert decision.seed_hash == seed
    assert (decision.chosen, decision.draws) == (chosen, attempts)


@pytest.mark.req("KSPEC-SEED-PRNG")
def test_the_stream_is_splitmix64():
    """The first numbers of SplitMix64 from the seed 1234567, as its author's code prints them."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert splitmix64(1234567, 5) == known
    assert list(islice(draws(f"{1234567:016x}" + "f" * 48), 5)) == [(z >> 11) / 2**53 for z in known]
    assert [draw(f"{1234567:016x}", n) for n in range(1, 6)] == [(z >> 11) / 2**53 for z in known]


@pytest.mark.req("KSPEC-SEED-PRNG")
@given(st.binary(min_size=32, max_size=32), st.integers(1, 100))
def test_the_generator_is_seeded_with_the_first_eight_bytes_of_the_hash(digest, n):
    expected = splitmix64(int.from_bytes(digest[:8], "big"), n)[-1]
    assert draw(digest.hex(), n) == (expected >> 11) / 2**53


@pytest.mark.req("KSPEC-SEED-CRYPTO", "KSPEC-SEED-HASH")
@pytest.mark.parametrize(
    ("identity", "key", "salt", "digest"),
    [
        ("prod/db-backup", "2026-03-01T00:00:00Z", "backup", "9c856577"),
        ("msgs/paris", "2026-03-02T09:00:00Z", "msgs", "8b95acf5"),
        ("daily/test", "2026-03-01", "", "3a1cbafc"),
        ("prod/db-backup", "2026-03-01T00:00:00Z", "", "4279dd7a"),
        ("daily/edge-la", "2026-02-28", "", "d6807b88"),
        ("weekly/edge-tokyo", "2026-W53", "", "3fb8ad96"),
    ],
)
def test_published_seed_hashes(identity, key, salt, digest):
    assert Seed(salt=salt).hash(identity, key)[:8] == digest
    assert Seed(salt=salt).hash(identity, key) == hashlib.sha256(f"{identity}\n{key}\n{salt}".encode()).hexdigest()


@pytest.mark.req("KSPEC-SEED-CRYPTO")
def test_the_hash_is_sha_256_by_its_own_known_answer():
    """The 56-byte message of FIPS 180, which a line feed after each part may not hold, is hashed as one salt."""
    message = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    assert hashlib.sha256(message.encode()).hexdigest().startswith("248d6a61d20638b8e5c026930c3e6039")
    assert Seed(salt=message).hash("", "") == hashlib.sha256(b"\n\n" + message.encode()).hexdigest()


@pytest.mark.req("KSPEC-SEED-DAILY")
def test_the_daily_key_is_the_date_on_the_wall():
    los_angeles = kron("30 16 * * * @tz(America/Los_Angeles) @seed(daily)")
    assert period_key(los_angeles, instant_of("2026-03-01T00:30:00Z")) == "2026-02-28"
    assert period_key(kron("* * * * * @seed(daily)"), instant_of("2026-03-01T00:30:00Z")) == "2026-03-01"


@pytest.mark.req("KSPEC-SEED-WEEKLY")
def test_the_weekly_key_is_the_iso_week_on_the_wall():
    tokyo = kron("30 8 * * * @tz(Asia/Tokyo) @seed(weekly)")
    assert period_key(tokyo, instant_of("2026-12-31T23:30:00Z")) == "2026-W53"
    assert period_key(tokyo, instant_of("2027-01-03T23:30:00Z")) == "2027-W01"


@pytest.mark.req("KSPEC-SEED-STABLE")
def test_the_stable_key_is_the_period_id():
    period = Period(MARCH)
    assert period_key(kron("0 0 * * * @tz(Asia/Tokyo)"), period.nominal) == period.id == "2026-03-01T00:00:00Z"


@pytest.mark.req("KSPEC-SEED-DAILY")
def test_both_passes_of_a_repeated_hour_share_the_key_of_the_day_and_differ_by_the_hour():
    schedule = kron("30 2 * * * @tz(Europe/Berlin) @win(after,20m) @seed(daily)")
    first, second = islice(periods(schedule, moment(instant_of("2026-10-24T12:00:00Z"))), 2)
    assert (first.id, second.id) == ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")
    early, late = decide(schedule, first, "job"), decide(schedule, second, "job")
    assert early.period_key == late.period_key == "2026-10-25"
    assert early.seed_hash == late.seed_hash
    assert late.chosen - early.chosen == 3600


@pytest.mark.req("KSPEC-SEED-INPUTS")
@pytest.mark.parametrize(
    "text",
    [
        "*/5 * * * * @win(after,3h)",
        "0 0 * * * @win(around,3h)",
        "0 0 * * * @win(after,1s)",
        "0 0 * * *",
        "0 0 * * * @tz(Africa/Abidjan) @win(after,3h)",
        "0 0 * * * @win(after,3h) @dist(normal,mu=end)",
        "0 0 * * * @win(after,3h) @dist(skewLate,shape=9)",
        "0 0 * * * @win(after,3h) @policy(concurrency=allow,deadline=1h,suspend=true)",
        "0 0 * * * @win(after,3h) @only(hours=1) @avoid(dow=MON)",
    ],
)
def test_nothing_but_identity_period_key_and_salt_enters_the_seed(text):
    plain = decide(kron("0 0 * * * @win(after,3h)"), Period(MARCH), "job")
    assert decide(kron(text), Period(MARCH), "job").seed_hash == plain.seed_hash


@pytest.mark.req("KSPEC-SEED-INPUTS")
def test_identity_period_key_and_salt_each_change_the_seed():
    schedule = kron("0 0 * * * @win(after,3h)")
    made = [
        decide(schedule, Period(MARCH), "job"),
        decide(schedule, Period(MARCH), "Job"),
        decide(schedule, Period(MARCH + 86_400), "job"),
        decide(kron("0 0 * * * @win(after,3h) @seed(stable,salt=x)"), Period(MARCH), "job"),
        decide(kron("0 0 * * * @win(after,3h) @seed(daily)"), Period(MARCH), "job"),
    ]
    assert len({decision.seed_hash for decision in made}) == len(made)


@pytest.mark.req("KSPEC-SEED-HASH")
def test_a_line_feed_may_stand_in_the_salt_but_not_in_the_identity():
    """It separates the inputs, so that in an identity it would give two jobs one seed."""
    schedule = kron("0 0 * * * @win(after,1h)")
    for identity in ("a\nb", "\n", ""):
        with pytest.raises(ValueError, match="line feeds"):
            decide(schedule, Period(MARCH), identity)
        with pytest.raises(KronError, match="identity"):
            define({"identity": identity, "schedule": "0 0 * * *"})
    salted = replace(schedule, seed=Seed(salt="x\ny"))
    assert decide(salted, Period(MARCH), "a").seed_hash == hashlib.sha256(b"a\n2026-03-01T00:00:00Z\nx\ny").hexdigest()
    assert verify(to_record(decide(salted, Period(MARCH), "a"))) == []


@pytest.mark.req("KSPEC-DEC-ONE")
def test_each_period_has_a_decision_of_its_own():
    schedule = kron("0 * * * * @win(after,1h)")
    found = list(islice(periods(schedule, moment(MARCH)), 500))
    made = [decide(schedule, period, "job") for period in found]
    assert [decision.period for decision in made] == found
    assert len({decision.seed_hash for decision in made}) == 500
    assert len({decision.chosen - decision.period.nominal for decision in made}) > 400


@pytest.mark.req("KSPEC-TERM-CANDIDATE", "KSPEC-CON-LOOP")
def test_a_candidate_is_a_second_of_the_window_before_anyone_asked_the_constraints():
    schedule = kron("0 10 * * * @win(after,2h) @only(hours=11)")
    decision = decide(schedule, Period(instant_of("2026-03-04T10:00:00Z")), "job-1")
    tried = list(candidates(schedule, decision.period.nominal, decision.seed_hash))
    assert len(tried) == 64
    assert all(decision.window.first <= t <= decision.window.last for t in tried)
    refused = [t for t in tried if violated_clause(schedule, t)]
    assert 15 < len(refused) < 50
    assert decision.chosen == next(t for t in tried if t not in refused)


@pytest.mark.req("KSPEC-DIST-DET", "KSPEC-INV-3")
@given(
    st.integers(0, 10**6), st.text("ab", min_size=1), st.sampled_from(["uniform", "normal", "skewLate", "exponential"])
)
def test_the_same_question_has_the_same_answer(n, identity, distribution):
    text = f"* * * * * @win(around,90m) @dist({distribution}) @avoid(hours=3)"
    one, other = (decide(kron(text), Period(MARCH + 60 * n), identity) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


# Frozen for ever. A row that changes moves the runs of somebody; that wants a new major version.


def golden():
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.req("KSPEC-COMPAT-STABLE", "KSPEC-INV-3")
def test_the_frozen_decisions_are_still_the_frozen_ones():
    digest = hashlib.sha256(GOLDEN.read_bytes()).hexdigest()
    assert digest == "478a2db0310e106dbda236e8a125af8958dd4a9152df30ba8b519e97250f2774"
    assert {row["distribution"]["name"] for row in golden()} == {
        "uniform",
        "normal",
        "skewEarly",
        "skewLate",
        "exponential",
    }


@pytest.mark.req("KSPEC-COMPAT-STABLE", "KSPEC-INV-3")
@pytest.mark.parametrize("row", golden(), ids=lambda row: f"{row['identity']}@{row['period_id']}")
def test_a_frozen_decision_is_computed_again(row):
    schedule = parse(row["schedule"], dialect=row["dialect"], timezone=row["timezone"])
    nominal = instant_of(row["nominal_time"])
    assert next_nominal(schedule, nominal - 1) == nominal
    decision = decide(schedule, Period(nominal), row["identity"])
    assert decision.period.id == row["period_id"]
    assert [rfc3339(*divmod(bound, SECOND)) for bound in decision.window] == [row["window_start"], row["window_end"]]
    assert decision.period_key == row["period_key"]
    assert decision.seed_hash == row["seed_hash"]
    assert (decision.chosen and rfc3339(decision.chosen)) == row["chosen_time"]
    assert decision.draws == row["attempts"]
    assert verify(row) == []


# In other processes. The batch is the golden file, computed by a process that knows nothing but its path.

BATCH = """
import json, sys
from kron import Period, decide, parse, to_record
from kron.timing.zone import instant_of
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    schedule = parse(row["schedule"], dialect=row["dialect"], timezone=row["timezone"])
    print(json.dumps(to_record(decide(schedule, Period(instant_of(row["period_id"])), row["identity"]))))
"""


def in_a_fresh_process(python, hash_seed):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": hash_seed}
    environment["PYTHONTZPATH"] = str(host_databases()[0].root)  # the tz database is an input: the same for both
    command = [python, "-c", BATCH, str(GOLDEN)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


def interpreters():
    """The other Pythons of this machine that Kron is for: on the path, or where pyenv keeps them."""
    names = [f"3.{minor}" for minor in (11, 12, 13) if minor != sys.version_info.minor]
    kept = Path.home() / ".pyenv" / "versions"
    found = [
        (name, [shutil.which(f"python{name}"), *sorted(map(str, kept.glob(f"{name}.*/bin/python")))]) for name in names
    ]
    return [pytest.param([p for p in paths if p], id=name) for name, paths in found]


def here():
    rows = [(parse(row["schedule"], dialect=row["dialect"], timezone=row["timezone"]), row) for row in golden()]
    made = [
        to_record(decide(schedule, Period(instant_of(row["period_id"])), row["identity"])) for schedule, row in rows
    ]
    return "".join(json.dumps(one) + "\n" for one in made)


@pytest.mark.req("KSPEC-DIST-STABLE", "KSPEC-SEED-DET", "KSPEC-INV-3")
@pytest.mark.parametrize("hash_seed", ["0", "1", "4294967295"])
def test_a_fresh_process_decides_the_same_whatever_its_hash_seed(hash_seed):
    assert in_a_fresh_process(sys.executable, hash_seed) == here()


@pytest.mark.req("KSPEC-INV-3")
@pytest.mark.parametrize("paths", interpreters())
def test_another_interpreter_decides_the_same(paths):
    python = next((path for path in paths if runs(path)), None)
    if python is None:
        pytest.skip("there is none here")
    assert in_a_fresh_process(python, "7") == here()


def runs(python):
    try:
        return subprocess.run([python, "-c", ""], check=False, capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


@pytest.mark.req("KSPEC-SEED-DET")
def test_it_does_not_matter_how_often_or_in_which_order_one_asks():
    schedule = kron("0 * * * * @win(after,1h) @dist(normal) @avoid(between=03:10-03:40)")
    found = list(islice(periods(schedule, moment(MARCH)), 50))
    once = {period: decide(schedule, period, "job") for period in found}
    again = {period: decide(schedule, period, "job") for period in reversed(found * 3)}
    assert once == again


@pytest.mark.req("KSPEC-TERM-DECISION")
def test_a_decision_is_a_value():
    schedule = kron("0 0 * * * @win(after,1h)")
    decision = decide(schedule, Period(MARCH), "job")
    assert (decision.identity, decision.schedule, decision.period) == ("job", schedule, Period(MARCH))
    assert isinstance(decision, Decision)
    with pytest.raises(AttributeError):
        decision.chosen = 0


class Triangle:
    """A distribution that Kron does not know: it peaks in the middle."""

    name = "triangle"

    def place(self, u, anchor, duration):
        return (u / 2) ** 0.5 if u < 0.5 else 1 - ((1 - u) / 2) ** 0.5


class EvenMinutes:
    """A kind of constraint that Kron does not know."""

    def violated_clause(self, at):
        return "only even minutes" if at.minute % 2 else ""


@pytest.mark.req("KSPEC-COMPAT-ADD")
def test_a_distribution_and_a_constraint_can_be_added_and_nothing_that_was_there_moves():
    plain = kron("0 0 * * * @win(after,3h)")
    added = replace(plain, distribution=Triangle(), constraints=EvenMinutes())
    made = [decide(added, Period(MARCH), f"job-{i}") for i in range(500)]
    assert all(decision.window.first <= decision.chosen <= decision.window.last for decision in made)
    assert all(decision.chosen // 60 % 2 == 0 for decision in made)
    assert {decision.draws for decision in made} > {1, 2, 3}
    middle = [decision for decision in made if abs(decision.chosen - MARCH - 5400) < 2700]
    assert 0.68 < len(middle) / len(made) < 0.82  # three quarters of a triangle, half of an even spread
    assert [d.seed_hash for d in made[:9]] == [decide(plain, Period(MARCH), f"job-{i}").seed_hash for i in range(9)]
