"""Schedulers without a worker of their own, wrapped functions, and jobs that are declared before their scheduler."""

import asyncio
import functools
import threading
from contextvars import ContextVar

import pytest

from kron import AlreadyExists, Scheduler, UsageError
from kron.apps.embedded.job_set import JobSet

opened: ContextVar[str] = ContextVar("opened", default="")


def wrap(function):
    if asyncio.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args, **kwargs):
            opened.set("async")
            return await function(*args, **kwargs)

        return call_async

    @functools.wraps(function)
    def call(*args, **kwargs):
        opened.set("plain")
        return function(*args, **kwargs)

    return call


def test_wrap_opens_what_each_call_needs():
    seen, ended = {}, threading.Event()
    scheduler = Scheduler("memory:", wrap=wrap)

    @scheduler.job("daily around 14:00")
    async def coroutine():
        seen["coroutine"] = opened.get()

    @scheduler.job("daily around 14:00")
    def plain():
        seen["plain"] = opened.get()

    @scheduler.task
    def task(name):
        seen[name] = opened.get()

    @scheduler.on_run_succeeded
    def handler(event):
        if event.job == "plain":
            seen["handler"] = opened.get()
            ended.set()

    with scheduler:
        scheduler.sync.create("later", task, every="1h", args=("task",))
        for name in ("coroutine", "later", "plain"):
            scheduler.sync.result(scheduler.sync.trigger(name), timeout=10)
        assert ended.wait(10)
    assert seen == {"coroutine": "async", "plain": "plain", "task": "plain", "handler": "plain"}


def test_scheduler_without_jobs_only_requests_them(tmp_path):
    """Its process creates and triggers a job, and another one runs it."""
    url, ran = f"sqlite:{tmp_path}/jobs.db", []
    client, worker = Scheduler(url, run_jobs=False), Scheduler(url)
    for scheduler in (client, worker):
        scheduler.task(lambda scheduler=scheduler: ran.append(scheduler), name="note")
    with client:
        client.sync.create("note-1", "note", every="1h")
        key = client.sync.trigger("note-1")
        with pytest.raises(TimeoutError):
            client.sync.result(key, timeout=1.5)
        assert ran == []
        with worker:
            assert client.sync.result(key, timeout=10).state == "success"
    assert ran == [worker]


def test_included_jobs_tasks_and_handlers_are_the_schedulers_own():
    jobs, ran = JobSet(), []

    @jobs.job("daily around 14:00")
    def report():
        ran.append("report")

    @jobs.task
    def send(name):
        ran.append(name)

    @jobs.on_run_succeeded
    async def succeeded(event):
        ran.append(event.kind)

    for _ in range(2):  # a set serves several schedulers
        scheduler = Scheduler("memory:")
        scheduler.include(jobs)
        ran.clear()
        with scheduler:
            scheduler.sync.create("mail", send, every="1h", args=("mail",))
            scheduler.sync.result(scheduler.sync.trigger("report"), timeout=10)
            scheduler.sync.result(scheduler.sync.trigger("mail"), timeout=10)
        assert sorted(ran) == ["mail", "report", "succeeded", "succeeded"]


def test_set_checks_texts_at_once_and_transactions_when_included():
    jobs = JobSet()
    with pytest.raises(UsageError, match="BAD_OPTION"):
        jobs.job("daily around 14:00", overlap="sometimes")(print)

    @jobs.job("daily around 14:00", transaction=True)
    async def write(connection):
        """Write nothing."""

    with pytest.raises(UsageError, match="NO_TRANSACTION"):
        Scheduler("memory:").include(jobs)


def test_set_passes_on_what_it_declares_later():
    jobs, scheduler, ran = JobSet(), Scheduler("memory:"), []
    scheduler.include(jobs)
    jobs.add(lambda: ran.append("before"), "daily around 14:00", name="before")
    with scheduler:
        jobs.add(lambda: ran.append("after"), "daily around 14:00", name="after")
        jobs.task(lambda: ran.append("task"), name="task")
        scheduler.sync.create("later", "task", every="1h")
        for name in ("before", "after", "later"):
            scheduler.sync.result(scheduler.sync.trigger(name), timeout=10)
    assert ran == ["before", "after", "task"]


def test_include_refuses_a_second_job_of_a_name():
    jobs, scheduler = JobSet(), Scheduler("memory:")
    jobs.add(print, "daily around 14:00", name="report")
    scheduler.add(print, "daily around 14:00", name="report")
    with pytest.raises(AlreadyExists, match="DUPLICATE_JOB"):
        scheduler.include(jobs)


@pytest.mark.parametrize("options", [{"run_jobs": "no"}, {"wrap": "app"}])
def test_wrong_argument_is_rejected_with_a_hint(options):
    with pytest.raises(UsageError, match="BAD_OPTION") as caught:
        Scheduler("memory:", **options)
    assert caught.value.hint.startswith("use ")


def test_is_running_says_whether_requests_are_answered():
    scheduler = Scheduler("memory:")
    states = [scheduler.is_running]
    with scheduler:
        states.append(scheduler.is_running)
    assert [*states, scheduler.is_running] == [False, True, False]
