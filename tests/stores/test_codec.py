"""What a store keeps comes back equal, or was refused; and what cannot be read is named."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import KronError, parse
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.update import Revision
from kron.stores.codec import (
    GAP,
    RUN,
    read_gap,
    read_revision,
    read_run,
    read_state,
    write_revision,
    write_standing,
)
from kron.stores.job_codec import JOB, POLICY, JobRow, write_job
from kron.timing.job import Command, Job, Source
from kron.timing.schedule import Constraints, Schedule, Seed, Window
from kron.timing.schedule.constraint import Clauses
from kron.timing.schedule.cron import Cron
from kron.timing.schedule.policy import (
    DECLARATIVE,
    KRON,
    LATER_AXES,
    SERVICE,
    AfterEnd,
    Catchup,
    Completion,
    FirstPeriod,
    Overlap,
    Policy,
    Resume,
    WorkerLossPolicy,
)
from kron.timing.schedule.sampling import Normal, SkewEarly, Strategy
from kron.timing.schedule.window import Mode
from kron.timing.zone import zone

NEVER = (1, 0, 0, 0, 0, None, None, None, 0, 0)  # how far it has come: not at all

texts = st.text(max_size=20)
storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
times = st.none() | st.integers(-(2**63), 2**63 - 1)
lengths = st.integers(0, 2**70)


def field(low, high, names=()):
    values = st.integers(low, high).map(str)
    spans = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda ab: f"{min(ab)}-{max(ab)}")
    steps = st.tuples(st.just("*") | spans, st.integers(1, high)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    lists = st.lists(values | spans | steps | (st.sampled_from(names) if names else values), min_size=1, max_size=4)
    return st.just("*") | lists.map(",".join)


seconds, minutes, hours, days = field(0, 59), field(0, 59), field(0, 23), field(1, 31)
months = field(1, 12, ("JAN", "DEC"))
weekdays = field(0, 6, ("SUN", "SAT"))
five = st.tuples(minutes, hours, days, months, weekdays).map(" ".join)
six = st.tuples(seconds, five).map(" ".join)
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Etc/GMT+5"])
salts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


modifiers = st.fixed_dictionaries(
    {},
    optional={
        "tz": zones,
        "win": st.sampled_from(["after,2h", "around,90m", "around,1s", "after,1ns"]),
        "dist": st.sampled_from(["normal", "normal,mu=end,sigma=7m", "skewEarly,shape=2.5", "exponential,lambda=1e-7"])
        | st.floats(1e-300, 1e300).map(lambda shape: f"skewLate,shape={shape!r}"),
        "seed": st.sampled_from(["daily", "weekly"]) | salts.map(lambda salt: f"stable,salt={quoted(salt)}"),
        "policy": st.sampled_from(["concurrency=allow", "deadline=5m", "suspend=true,deadline=1ns"]),
        "only": st.sampled_from(["hours=8-18;dow=MON-FRI", "between=22:00-06:00;between=12:00-13:00", "dom=1,15"]),
        "avoid": st.sampled_from(["date=2026-12-25;dates=2026-01-01..2026-01-06", "months=JUL,AUG"]),
    },
)


@st.composite
def parsed(draw):
    """A schedule that some dialect can say."""
    dialect = draw(st.sampled_from(["kron", "service", "service"]))
    if dialect == "service":
        return parse(draw(five | six), dialect="service", timezone=draw(zones))
    found = draw(modifiers)
    try:
        return parse(" ".join([draw(five), *(f"@{name}({body})" for name, body in found.items())]), dialect="kron")
    except KronError:  # no month has such a day
        return parse("0 0 1 1 *", dialect="kron")


AXES = {
    "overlap": st.sampled_from(Overlap),
    "deadline": st.none() | lengths,
    "suspend": st.booleans(),
    "catchup": st.sampled_from(Catchup),
    "catchup_limit": lengths,
    "spread_over": lengths,
    "queue_limit": lengths,
    "jitter": lengths,
    "resolution": lengths,
    "retry_after": st.none() | lengths,
    "launch_for": lengths,
    "grace": lengths,
    "launch_backoff": lengths,
    "on_worker_loss": st.sampled_from(WorkerLossPolicy),
    "run_lease": lengths,
    "first_period": st.sampled_from(FirstPeriod),
    "resume": st.sampled_from(Resume),
    "completion": st.sampled_from(Completion),
    "launch_attempts": st.none() | lengths,
    "launch_factor": st.just(2) | lengths,
    "launch_max_delay": lengths,
    "launch_jitter": st.just(25) | lengths,
    "retry_attempts": st.none() | lengths,
    "retry_factor": st.just(1) | lengths,
    "retry_max_delay": st.none() | lengths,
    "retry_jitter": st.just(0) | lengths,
    "timeout": st.none() | lengths,
    "overlap_limit": st.none() | lengths,
    "max_runs": st.none() | lengths,
    "pause_on_failure": st.none() | lengths,
    "after_end": st.sampled_from(AfterEnd),
}
policies = st.builds(Policy, **AXES)
commands = st.builds(
    Command,
    line=texts,
    user=st.none() | texts,
    group=st.none() | texts,
    cwd=st.none() | texts,
    env=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    shell=st.none() | texts,
    umask=st.none() | st.integers(0, 0o777),
    timeout=st.none() | lengths,
    stdout=st.none() | texts,
    stderr=st.none() | texts,
    grace=st.none() | lengths,
)


@st.composite
def jobs(draw, schedules, texts):
    schedule = replace(draw(schedules), policy=draw(policies | st.sampled_from([KRON, SERVICE, DECLARATIVE])))
    command, start, end = draw(st.none() | commands), draw(times), draw(times)
    source = draw(st.none() | st.builds(Source, texts, texts, st.none() | texts))
    return Job(draw(texts), schedule, draw(texts), draw(texts), command, draw(texts), start, end, source)


def read(job, row):
    return read_state((job.identity, *row, *NEVER)).job


def test_every_axis_of_the_policy_is_tried():
    assert set(AXES) == {field.name for field in fields(Policy)} - {"preset", "given"}


@settings(deadline=None)
@given(jobs(parsed(), storable))
def test_a_job_that_a_text_can_say_comes_back_equal(job):
    row = write_job(job)
    assert read(job, JOB.row(row).values()) == job
    assert read(job, row).schedule.zone is job.schedule.zone
    assert write_job(read(job, row)) == row


bits = st.integers(1, 127)
strange = st.builds(
    Schedule,
    cron=st.builds(Cron, bits, bits, bits, bits, bits, st.booleans(), st.booleans(), st.integers(1, 3)),
    zone=st.just(zone("Europe/Berlin")),
    window=st.builds(Window, st.sampled_from(Mode), st.integers(0, 5)),
    distribution=st.builds(Normal, sigma=st.integers(0, 5)) | st.builds(SkewEarly, st.floats(0, 5)),
    seed=st.builds(Seed, st.sampled_from(Strategy), texts),
    constraints=st.builds(Constraints, st.none() | st.builds(Clauses, st.integers(0, 5), st.integers(0, 5))),
)


@settings(deadline=None)
@given(jobs(strange, texts))
def test_any_other_job_comes_back_equal_or_is_refused(job):
    """A window beside seconds, an empty clause, half a character: no text says them."""
    try:
        row = write_job(job)
    except KronError as error:
        assert error.code == "NOT_STORABLE"
        assert repr(job.identity) in error.message
    else:
        assert read(job, row) == job


@pytest.mark.parametrize(
    "job",
    [
        Job("a\0b", parse("* * * * *", dialect="kron")),
        Job("a\ud800", parse("* * * * *", dialect="kron")),
        Job("a", parse("* * * * *", dialect="kron"), start=2**63),
        Job("a", replace(parse("* * * * *", dialect="kron"), constraints=Constraints(only=Clauses()))),
    ],
    ids=["nul", "surrogate", "number", "empty clause"],
)
def test_what_no_text_says_is_refused(job):
    with pytest.raises(KronError, match="cannot be stored") as refused:
        write_job(job)
    assert refused.value.code == "NOT_STORABLE"


def test_window_next_to_seconds_is_kept_as_plus():
    job = Job("a", replace(parse("* * * * * *", dialect="service"), window=Window(Mode.AFTER, 10**9)))
    assert write_job(job).dialect == "plus"
    assert read(job, write_job(job)) == job


def test_a_line_that_never_occurs_is_kept_too():
    """Kron's own dialect refuses it; the others leave it to the lint."""
    job = Job("a", parse("0 0 30 2 *", dialect="posix"))
    assert read(job, write_job(job)) == job


whole = st.integers(-(2**63), 2**63 - 1)
runs = st.builds(
    Run,
    key=texts,
    identity=texts,
    nominal=whole,
    revision=whole,
    due=whole,
    state=st.sampled_from(State),
    trigger=texts,
    outcome=st.none() | st.sampled_from(Outcome),
    reason=st.none() | st.sampled_from(Reason),
    attempt=whole,
    owner=texts,
    lease=st.none() | whole,
    not_before=whole,
    maybe_delivered=st.booleans(),
    created=whole,
    changed=whole,
    unsent=whole,
    launched=whole,
    failures=whole,
    ends_by=st.none() | whole,
)
gaps = st.builds(GapRecord, whole, whole, whole, st.sampled_from(Outcome), st.sampled_from(Reason))
revisions = st.builds(Revision, jobs(parsed(), storable), whole, whole, texts, texts, whole)


@settings(deadline=None)
@given(runs, gaps, revisions)
def test_runs_gaps_and_revisions_come_back_equal(run, gap, revision):
    assert read_run([*RUN.row(run).values()]) == run
    assert read_gap("a", [*GAP.row(gap).values()]) == gap
    assert read_revision([*write_revision(revision, write_job(revision.job)).values()]) == revision


WRONG = st.sampled_from([None, 1.5, b"x", "nonsense", 7, -1, "", "[]", "{}"])
GOOD = write_job(Job("a", parse("*/5 * * * *", dialect="kron"), command=Command("true")))


@settings(deadline=None)
@given(st.integers(0, len(GOOD) + len(NEVER) - 1), WRONG)
def test_a_schedule_with_one_wrong_value_is_read_as_it_says_or_refused_by_name(column, value):
    row = ["a", *GOOD, *NEVER]
    row[column + 1] = value
    try:
        case = read_state(row)
    except KronError as error:
        assert error.code == "CORRUPT_ROW"
        assert error.details == {"table": "schedules", "row": "a"}
        assert "'a' of schedules" in error.message
    else:
        again = ["a", *write_job(case.job), *write_standing(case)]
        assert again == row or column == 0  # a text may have a shorter way to be said


@settings(deadline=None)
@given(st.integers(0, len(Run._fields) - 1), WRONG)
def test_a_run_with_one_wrong_value_is_read_as_it_says_or_refused_by_name(column, value):
    row = [*RUN.row(Run("k", "a", 1, 1, 1000, State.PENDING)).values()]
    row[column] = value
    try:
        assert [*RUN.row(read_run(row)).values()] == row
    except KronError as error:
        assert error.code == "CORRUPT_ROW"
        assert error.details == {"table": "schedule_runs", "row": row[0]}


@pytest.mark.parametrize(
    "text",
    [
        POLICY.text(KRON).replace('"catchup_limit":100,', ""),
        POLICY.text(KRON).replace('"catchup_limit"', '"catchup_limits"'),
        POLICY.text(KRON)[:-1] + ',"more":1}',
        POLICY.text(KRON).replace('"catchup_limit":100', '"catchup_limit":true'),
        POLICY.text(KRON).replace('"catchup_limit":100', '"catchup_limit":100.0'),
        POLICY.text(KRON).replace('"skip"', '"sometimes"'),
        "[" * 100_000,
        "null",
        "",
    ],
    ids=["too few", "renamed", "too many", "a truth", "a fraction", "no such word", "deep", "null", "empty"],
)
def test_a_policy_is_read_whole_or_not_at_all(text):
    with pytest.raises(KronError, match="'a' of schedules cannot be read"):
        read_state(("a", *GOOD._replace(policy=text), *NEVER))


def test_a_stored_policy_has_a_later_axis_only_where_it_differs_from_its_default():
    """Rows of before these axes existed stay as they are, byte by byte, and are read with the defaults."""
    old = set(AXES) - set(LATER_AXES)
    for policy in (KRON, SERVICE, DECLARATIVE):
        assert set(json.loads(POLICY.text(policy))) == old
        assert POLICY.read_text(POLICY.text(policy)) == policy
    longer = replace(KRON, timeout=7, launch_factor=2)
    assert set(json.loads(POLICY.text(longer))) == {*old, "timeout"}
    assert POLICY.read_text(POLICY.text(longer)) == longer


def test_the_columns_of_a_definition_are_those_of_a_job_but_its_identity():
    assert len(JobRow._fields) == len(fields(Job)) - 1 + 3 + 2  # its schedule has 4 columns, and its source text 3
