"""Jobs of tasks: created at run time, with arguments that are rows, and run by any process that has the task."""

import asyncio
import os
import threading
from datetime import UTC, datetime, timedelta
from inspect import signature

import pytest

from kron import AlreadyExists, InvalidInput, KronError, NotFound, Scheduler, UsageError, current_run
from kron.language.canonical import canonical
from tests.embedded import process_jobs


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request, tmp_path):
    urls = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}
    return urls.get(request.param) or request.getfixturevalue("database")


def soon(seconds=1):
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds + 2)


def test_job_that_is_created_runs_once_with_its_arguments(url):
    s, calls, called = Scheduler(url), [], threading.Event()

    @s.task
    def remind(user, text="", *, urgent=False):
        calls.append((user, text, urgent, current_run().payload))
        called.set()

    with s:
        job = s.sync.create("reminder-42", remind, at=soon(), args=[42], kwargs={"text": "grüße", "urgent": True})
        assert (job.name, job.declared, job.revision) == ("reminder-42", True, 1)
        assert called.wait(20)
        (run,) = s.sync.runs("reminder-42")
        assert s.sync.result(run.key, timeout=20).succeeded
        assert s.sync.get("reminder-42").next_run is None
    payload = {"args": [42], "kwargs": {"text": "grüße", "urgent": True}}
    assert calls == [(42, "grüße", True, payload)]


def test_async_task_by_name_and_several_jobs_of_it(url):
    async def main():
        s, users = Scheduler(url), []

        @s.task(name="greet")
        async def say_hello(user):
            users.append(user)

        async with s:
            for user in range(5):
                await s.create(
                    f"greet-{user}", "greet", every="1h", kwargs={"user": user}, labels={"set": str(user % 2)}
                )
            keys = [await s.trigger(f"greet-{user}") for user in range(5)]
            for key in keys:
                assert (await s.result(key, timeout=20)).succeeded
            assert [job.name for job in await s.jobs(labels={"set": "1"})] == ["greet-1", "greet-3"]
        assert sorted(users) == [0, 1, 2, 3, 4]

    asyncio.run(main())


def test_job_survives_the_process_and_another_runs_it(tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    first = Scheduler(url)
    first.task(print, name="work")
    with first:
        first.sync.create("job", "work", at=soon(3), args=["ran"])
    second, done = Scheduler(url), threading.Event()
    second.task(lambda text: done.set(), name="work")
    with second:
        assert second.sync.get("job").declared
        assert done.wait(20)


def test_process_without_the_task_leaves_the_job_to_others(tmp_path):
    url = f"sqlite:{tmp_path}/jobs.db"
    owner, other = Scheduler(url), Scheduler(url)
    owner.task(print, name="work")
    with owner, other:
        owner.sync.create("job", "work", every="1h")
        assert not other.sync.get("job").declared
        key = other.sync.trigger("job")
        assert owner.sync.result(key, timeout=30).succeeded


def test_name_is_used_once_unless_it_is_replaced(url):
    s = Scheduler(url)
    s.task(print, name="work")
    with s:
        s.sync.create("job", "work", every="1h", args=[1])
        with pytest.raises(AlreadyExists, match="already exists"):
            s.sync.create("job", "work", every="2h")
        job = s.sync.create("job", "work", every="2h", replace=True)
        assert (job.revision, job.schedule) == (2, "every 2h from 1970-01-01T00:00Z")
        s.sync.delete("job")
        with pytest.raises(NotFound):
            s.sync.get("job")


def test_rescheduled_job_keeps_its_arguments_labels_and_policy(url):
    s, values = Scheduler(url), []

    @s.task
    def keep(value):
        values.append(value)

    with s:
        options = {"overlap": "queue", "retry_delay": "5s", "labels": {"a": "b"}, "timezone": "Europe/Paris"}
        s.sync.create("job", keep, "daily around 14:00", args=["kept"], **options)
        job = s.sync.reschedule("job", "0 9 * * MON", dialect="kron")
        assert (job.schedule, job.timezone, job.revision) == ("0 9 * * MON", "Europe/Paris", 2)
        assert [each.name for each in s.sync.jobs(labels={"a": "b"})] == ["job"]
        assert s.sync.result(s.sync.trigger("job"), timeout=20).succeeded
        with pytest.raises(NotFound):
            s.sync.reschedule("other", every="1h")
    assert values == ["kept"]


def test_create_has_the_options_of_job_except_those_of_the_function():
    def names(method):
        return set(signature(method).parameters) - {"self", "schedule"}

    created = names(Scheduler.create)
    assert names(Scheduler.job) - created == {"transaction", "executor"}
    assert created - names(Scheduler.job) == {"task", "labels", "after_end", "replace"}
    s = Scheduler("memory:")
    assert names(s.sync.create) == created
    assert names(s.sync.reschedule) == names(Scheduler.reschedule)


def test_options_of_a_created_job_are_stored(url):
    s = Scheduler(url)
    s.task(print, name="work")
    retry = {"retry_delay": "5s", "retry_factor": 2, "retry_max_delay": "1m", "retry_jitter": 10}
    options = {"overlap": "allow", "overlap_limit": 3, "timezone": "Europe/Paris", "dst": "once", **retry}
    with s:
        s.sync.create("job", "work", "kron: 30 2 * * *", **options)
        (state,) = s.sync._wait(s._inside.registrar.store.get(["job"]))
        s.sync.reschedule("job", "kron: 40 2 * * *", dst="once")
        (later,) = s.sync._wait(s._inside.registrar.store.get(["job"]))
    policy = state.policy
    assert (policy.overlap, policy.overlap_limit) == ("allow", 3)
    assert (policy.retry_factor, policy.retry_max_delay, policy.retry_jitter) == (2, 60_000_000_000, 10)
    assert canonical(state.job.schedule).text.endswith("@dst(once)")
    assert canonical(later.job.schedule).text == "40 2 * * * @tz(Europe/Paris) @dst(once)"
    assert later.policy == policy


def test_task_in_a_child_process_runs_all_its_jobs_there(tmp_path):
    s = Scheduler("memory:")
    s.task(process_jobs.write_down, executor="process")
    with s:
        s.sync.create("job", "write_down", every="1h", args=[str(tmp_path / "note")], kwargs={"word": "hello"})
        assert s.sync.result(s.sync.trigger("job"), timeout=30).succeeded
    pid, *rest = (tmp_path / "note").read_text().split()
    assert int(pid) != os.getpid()
    assert rest == ["hello", "job", "1"]


def test_changed_function_is_named_with_its_job_and_what_to_do(tmp_path, caplog):
    url = f"sqlite:{tmp_path}/jobs.db"
    first, second = Scheduler(url), Scheduler(url)

    @first.task(name="send_reminder")
    def before(user):
        pass

    @second.task
    def send_reminder(user_id):
        pass

    with first:
        first.sync.create("ren", "send_reminder", every="1h", kwargs={"user": 1})
    with second:
        assert not second.sync.result(second.sync.trigger("ren"), timeout=20).succeeded
    says = "'send_reminder' does not accept the stored arguments of job 'ren': missing a required argument: 'user_id'"
    assert says in caplog.text
    assert "hint: use s.create(..., replace=True) with arguments that fit" in caplog.text


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"args": [1, 2, 3]}, UsageError, "does not accept these arguments"),
        ({"kwargs": {"colour": 1}}, UsageError, "does not accept these arguments"),
        ({"args": "abc"}, UsageError, "args cannot be 'abc'"),
        ({"args": [object()]}, InvalidInput, "not JSON"),
        ({"kwargs": {"user": datetime(2026, 1, 1, tzinfo=UTC)}}, InvalidInput, "not JSON"),
        ({"args": ["x" * 70_000]}, InvalidInput, "bytes as JSON"),
        ({"labels": {"a b": "x"}}, InvalidInput, "not a valid key"),
        ({"at": None, "every": None}, KronError, "no schedule"),
        ({"retries": 3}, UsageError, "unknown job option 'retries'"),
    ],
)
def test_mistake_is_answered_when_the_job_is_created(options, error, says):
    s = Scheduler("memory:")

    @s.task
    def work(user=None, text=""):
        pass

    with s:
        with pytest.raises(error, match=says) as caught:
            s.sync.create("job", work, **{"every": "1h", **options})
        assert caught.value.hint
        assert s.sync.jobs() == []


def test_unknown_task_is_answered_with_the_nearest_name():
    s = Scheduler("memory:")
    s.task(print, name="remind")
    with s:
        with pytest.raises(UsageError, match="'remnid' is not a registered task") as caught:
            s.sync.create("job", "remnid", every="1h")
        assert "remind" in caught.value.hint
        with pytest.raises(UsageError, match="'len' is not a registered task"):
            s.sync.create("job", len, every="1h")


def test_name_of_a_task_is_not_that_of_a_declared_job():
    s = Scheduler("memory:")
    s.add(print, "daily", name="work")
    with pytest.raises(AlreadyExists):
        s.task(print, name="work")
    s.task(print, name="other")
    with pytest.raises(AlreadyExists):
        s.add(print, "daily", name="other")


def test_failure_of_a_task_is_recorded_with_its_error(tmp_path):
    s = Scheduler(f"sqlite:{tmp_path}/jobs.db")

    @s.task
    def fails(user):
        raise ValueError(f"no user {user}")

    with s:
        s.sync.create("job", fails, every="1h", args=[7])
        assert not s.sync.result(s.sync.trigger("job"), timeout=20).succeeded
