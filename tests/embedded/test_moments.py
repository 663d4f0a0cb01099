"""Moments of jobs that are created at run time: one in the past is refused, and none is skipped by default."""

import asyncio
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest

from kron import InvalidInput, Scheduler

PAST = datetime(2020, 1, 1, tzinfo=UTC)
FUTURE = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def s(request, tmp_path):
    urls = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}
    scheduler = Scheduler(urls.get(request.param) or request.getfixturevalue("database"))
    scheduler.task(print, name="work")
    with scheduler:
        yield scheduler


def soon(seconds=1):
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds + 2)


def overlap_of(s, name):
    (state,) = s.sync._wait(s._inside.registrar.store.get([name]))
    return state.policy.overlap


@pytest.mark.parametrize(
    "schedule",
    [
        {"at": PAST},
        {"at": [PAST, PAST + timedelta(hours=1)], "after_end": "delete"},
        {"schedule": "at 2020-01-01T00:00Z", "dialect": "plus"},
        {"schedule": "0 9 * * * @valid(until=2020-01-01T00:00)", "dialect": "plus"},
    ],
    ids=["moment", "moments", "text", "validity"],
)
def test_job_whose_moments_have_passed_is_not_created(s, schedule):
    with pytest.raises(InvalidInput) as refused:
        s.sync.create("job", "work", **schedule)
    assert refused.value.code == "PAST"
    assert s.sync.jobs() == []
    s.sync.create("job", "work", at=FUTURE)
    with pytest.raises(InvalidInput, match="would never run"):
        s.sync.create("job", "work", replace=True, **schedule)
    assert s.sync.get("job").next_run == FUTURE


def test_moment_that_has_just_passed_is_refused(s):
    with pytest.raises(InvalidInput, match="would never run"):
        s.sync.create("job", "work", at=datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=1))
    assert s.sync.jobs() == []


def test_refusal_names_the_moment_the_time_and_what_to_write(s):
    with pytest.raises(InvalidInput) as refused:
        s.sync.create("job", "work", at=PAST)
    says = r"job 'job' would never run: its last moment was 2020-01-01T00:00:00Z, and the current time is 20\d\d-.*Z"
    assert re.fullmatch(says, refused.value.message)
    assert refused.value.hint == "use a later moment, such as at=datetime.now(UTC) + timedelta(seconds=5)"


def test_job_is_not_rescheduled_to_a_moment_that_has_passed(s):
    s.sync.create("job", "work", every="1h")
    with pytest.raises(InvalidInput, match="2020-01-01T00:00:00Z") as refused:
        s.sync.reschedule("job", at=PAST)
    assert refused.value.code == "PAST"
    assert refused.value.hint.endswith(", or run the job now with await s.trigger('job')")
    assert s.sync.get("job").revision == 1


def test_one_moment_that_is_left_is_enough(s):
    assert s.sync.create("job", "work", at=[PAST, FUTURE]).next_run == FUTURE
    s.sync.pause("job")
    later = FUTURE + timedelta(hours=1)
    s.sync.create("job", "work", at=[PAST, later], replace=True)  # a pause is not the end of a job
    s.sync.resume("job")
    assert s.sync.next("job") == later


def test_job_with_the_same_moment_is_defined_again_after_it(s):
    when, done = soon(), threading.Event()
    s.task(lambda *_: done.set(), name="note")
    s.sync.create("job", "note", at=when, args=[1])
    assert done.wait(20)
    assert s.sync.create("job", "note", at=when, args=[1], replace=True).revision == 1
    changed = s.sync.create("job", "note", at=when, args=[2], replace=True)  # the moment is the same
    assert (changed.revision, changed.next_run) == (2, None)
    assert s.sync.reschedule("job", at=when).revision == 2


def test_declared_job_whose_moment_has_passed_is_accepted(tmp_path):
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")
    s.add(print, at=PAST)
    with s:
        assert s.sync.get("print").next_run is None


def test_moment_with_microseconds_is_rounded_up_and_runs(s):
    when, done = soon().replace(microsecond=1), threading.Event()
    s.task(lambda: done.set(), name="note")
    job = s.sync.create("job", "note", at=when)
    assert job.next_run == when.replace(microsecond=0) + timedelta(seconds=1)
    assert done.wait(20)


def test_moment_waits_for_an_active_run_unless_the_author_says_otherwise(s):
    s.sync.create("once", "work", at=FUTURE)
    s.sync.create("text", "work", "plus: at 2099-01-01T00:00Z")
    s.sync.create("given", "work", at=FUTURE, overlap="skip")
    s.sync.create("policy", "work", "plus: at 2099-01-01T00:00Z @policy(concurrency=allow)")
    s.sync.create("often", "work", every="1h")
    names = ("once", "text", "given", "policy", "often")
    assert [overlap_of(s, name) for name in names] == ["queue", "queue", "skip", "allow", "skip"]


def test_rescheduled_job_has_the_default_of_its_new_kind_of_schedule(s):
    for name, overlap in (("default", None), ("given", "allow")):
        s.sync.create(name, "work", every="1h", overlap=overlap)
        seen = []
        for schedule in ({"at": FUTURE}, {"at": FUTURE + timedelta(hours=1)}, {"every": "2h"}, {"every": "3h"}):
            s.sync.reschedule(name, **schedule)
            seen.append(str(overlap_of(s, name)))
        assert seen == (["allow"] * 4 if overlap else ["queue", "queue", "skip", "skip"])


def test_one_off_that_replaces_an_active_one_runs_after_it():
    async def main():
        s, tags, begun, release = Scheduler("memory:"), [], asyncio.Event(), asyncio.Event()

        @s.task
        async def slow(tag):
            tags.append(tag)
            begun.set()
            await release.wait()

        async with s:
            await s.create("job", slow, at=soon(), args=["old"])
            await begun.wait()
            when = soon()
            await s.create("job", slow, at=when, args=["new"], replace=True)
            while datetime.now(UTC) < when + timedelta(milliseconds=500):
                await asyncio.sleep(0.05)
            assert tags == ["old"]
            release.set()
            while tags != ["old", "new"]:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(main(), 40))


@pytest.mark.parametrize("overlap", [None, "skip"])
def test_deadline_of_a_moment_counts_after_a_downtime(tmp_path, overlap):
    url = f"sqlite:{tmp_path}/jobs.db"
    first, second, ran = Scheduler(url), Scheduler(url), []
    first.task(print, name="work")
    second.task(lambda: ran.append(1), name="work")
    when = soon()
    with first:
        first.sync.create("job", "work", at=when, deadline="1s", overlap=overlap)
    while datetime.now(UTC) < when + timedelta(seconds=3):
        threading.Event().wait(0.1)
    with second:
        for _ in range(200):
            if second.sync.runs("job"):
                break
            threading.Event().wait(0.05)
        (run,) = second.sync.runs("job")
    assert (run.state, run.reason, ran) == ("missed", "deadline", [])
