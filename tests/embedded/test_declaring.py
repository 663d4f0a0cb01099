"""What can be declared, and what is refused when it is declared, with what to write instead."""

import asyncio
import functools
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kron import KronError, LanguageError, Scheduler
from kron.timing.schedule.policy import APPLICATION, Overlap


def nothing(): ...


async def anything(): ...


def one(argument): ...


def policy(text, **options):
    s = Scheduler("memory:")
    s.kron(text, name="job", **options)(nothing)
    return s.declared["job"].job.schedule.policy


def test_kron_text_without_policy_has_that_of_an_application():
    assert policy("0 9 * * *") == APPLICATION


def test_kron_policy_deadline_of_zero_is_honored():
    assert policy("0 9 * * * @policy(deadline=0s)").deadline == 0


def test_kron_policy_concurrency_changes_overlap_alone():
    allowed = policy("0 9 * * * @policy(concurrency=allow)")
    assert allowed == policy("0 9 * * *", overlap="allow")
    assert (allowed.overlap, allowed.deadline, allowed.catchup) == (Overlap.ALLOW, None, APPLICATION.catchup)
    assert policy("0 9 * * * @policy(concurrency=forbid)") == APPLICATION
    assert policy("0 9 * * * @policy(concurrency=forbid)", overlap="queue").overlap is Overlap.SKIP


def test_kron_policy_text_wins_over_an_option_key_by_key():
    found = policy("0 9 * * * @policy(deadline=5m)", deadline="10m", overlap="queue", retry_delay="1m")
    assert (found.deadline, found.overlap, found.retry_after) == (300 * 10**9, Overlap.QUEUE, 60 * 10**9)


def refusal(function, *args, **options):
    with pytest.raises(KronError) as caught:
        Scheduler("memory:").add(function, *args, **options)
    return caught.value


@pytest.mark.parametrize("name", ["job", "cron", "kron"])
def test_decorator_without_parentheses_is_refused(name):
    with pytest.raises(KronError, match=r"no schedule[\s\S]*in parentheses") as caught:
        getattr(Scheduler("memory:"), name)(nothing)
    assert caught.value.code == "BAD_SCHEDULE"


@pytest.mark.parametrize("schedule", [None, 5, timedelta(seconds=5), b"daily"])
def test_schedule_that_is_no_text_is_refused(schedule):
    assert refusal(nothing, schedule).code == "BAD_SCHEDULE"


def test_coroutine_in_place_of_a_function_is_refused():
    error = refusal(anything(), "daily", name="x")
    assert error.code == "NOT_CALLABLE"
    assert "anything instead of anything()" in error.hint


def generator():
    yield 1


async def async_generator():
    yield 1


@pytest.mark.parametrize("function", [5, object(), [], generator, async_generator])
def test_what_cannot_be_called_is_refused(function):
    assert refusal(function, "daily", name="x").code == "NOT_CALLABLE"


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (one, {}),
        (one, {"args": (1, 2)}),
        (one, {"kwargs": {"other": 1}}),
        (nothing, {"args": [1]}),
        (one, {"args": "abc"}),
        (one, {"args": 1}),
        (one, {"kwargs": [1]}),
        (one, {"kwargs": {1: 2}}),
        (functools.partial(one, 1), {"args": (2,), "name": "partial"}),
    ],
)
def test_arguments_that_a_function_does_not_take_are_refused(function, options):
    assert refusal(function, "daily", **options).code == "BAD_ARGUMENTS"


def test_transaction_counts_the_connection_as_an_argument():
    async def fine(connection): ...

    s = Scheduler("postgresql://nowhere/x")
    s.add(fine, "daily", transaction=True)
    with pytest.raises(KronError, match="the first argument is the connection"):
        s.add(anything, "daily", transaction=True)


def test_arguments_that_fit_are_kept():
    s = Scheduler("memory:")
    s.add(one, "daily", args=[1])
    s.add(print, "daily", args=("a", "b"), kwargs={"sep": "-"})
    s.add(functools.partial(one, 1), "daily", name="partial")
    assert s.declared["one"].args == (1,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_instances": 1}, "overlap="),
        ({"tz": "UTC"}, "timezone="),
        ({"misfire_grace_time": 60}, "deadline="),
        ({"coalesce": True}, "catchup="),
        ({"jitter": 10}, "@win"),
        ({"id": "x"}, "name="),
        ({"overlapp": "skip"}, "did you mean 'overlap'"),
        ({"deadline": 600}, 'deadline="600s"'),
        ({"retry_delay": 3}, 'retry_delay="3s"'),
        ({"overlap": True}, "use one of allow, skip"),
        ({"restart_lost": "yes"}, "restart_lost=True"),
        ({"timezone": 5}, "Europe/Paris"),
        ({"timezone": ""}, "Europe/Paris"),
        ({"timezone": "Europe/Pariz"}, "did you mean 'Europe/Paris'"),
        ({"name": 5}, "name="),
        ({"name": ""}, "name="),
    ],
)
def test_wrong_option_is_refused_with_what_to_write(options, said):
    assert said in refusal(nothing, "daily", **options).hint


def test_zone_may_be_a_zoneinfo():
    s = Scheduler("memory:")
    s.add(nothing, "daily", timezone=ZoneInfo("Europe/Paris"))
    assert s.declared["nothing"].job.schedule.zone.name == "Europe/Paris"


@pytest.mark.parametrize("text", ["daily around 9am est", "daily around 9am utc+2", "daily between 9am and 5pm jst"])
def test_sentence_with_an_offset_and_a_zone_is_refused(text):
    assert refusal(nothing, text, timezone="Asia/Tokyo").code == "TWO_ZONES"


def test_sentence_with_a_zone_alone_is_read_there():
    s = Scheduler("memory:")
    s.add(nothing, "daily around 9am", timezone="Asia/Tokyo")
    assert s.declared["nothing"].job.schedule.zone.name == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("text", "dialect", "said"),
    [
        ("0 9 * * *", "fuzzy", "@s.cron"),
        ("*/10 * * * * *", "fuzzy", 'dialect="service"'),
        ("*/5 * * * *", "posix", "@s.kron"),
        ("0 9 * * MON-FRI", "posix", "@s.kron"),
        ("0 */5 * * * *", "kron", 'dialect="service"'),
    ],
)
def test_text_of_another_dialect_is_refused_with_its_decorator(text, dialect, said):
    error = refusal(nothing, text, dialect=dialect)
    assert isinstance(error, LanguageError)
    assert said in error.hint


def test_schedule_that_never_runs_is_refused():
    assert refusal(nothing, "0 0 30 2 *", dialect="posix").code == "NEVER"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///jobs.db", "use sqlite:jobs.db for a file in the working folder, or sqlite:/jobs.db"),
        ("sqlite:///var/lib/jobs.db", "or sqlite:/var/lib/jobs.db for one in the root folder"),
        ("sqlite://jobs.db", "use sqlite:jobs.db"),
        ("sqlite:", "use sqlite:jobs.db"),
        ("sqlite::memory:", "use memory:"),
        ("sqlite:~/jobs.db", "use sqlite:jobs.db"),
        ("sqlite+aiosqlite:///x.db", "use sqlite:jobs.db"),
        ("sqlite:/var/jobs.db?timeout=3", "use sqlite:/var/jobs.db: a SQLite store has no parameters"),
        ("postgresql+asyncpg://u:secret@localhost/x", "use postgresql://user@host/database"),
        ("jobs.db", "use sqlite:jobs.db"),
        ("", "use sqlite:jobs.db"),
        (None, "use sqlite:jobs.db"),
    ],
)
def test_url_that_is_no_store_is_refused_at_once(url, said):
    with pytest.raises(KronError) as caught:
        Scheduler(url)
    assert caught.value.code == "UNKNOWN_STORE"
    assert said in caught.value.hint
    assert "secret" not in str(caught.value)


def test_url_with_an_absolute_path_is_taken(tmp_path):
    for url in (f"sqlite:{tmp_path}/a.db", f"sqlite:///{tmp_path}/a.db", "sqlite:jobs.db", "memory:"):
        assert Scheduler(url)._setup.url == url


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "4"])
def test_threads_that_are_no_number_are_refused(threads):
    with pytest.raises(KronError, match="max_workers cannot be"):
        Scheduler("memory:", max_workers=threads)


@pytest.mark.parametrize(
    "given",
    [
        *({"shutdown_timeout": value} for value in (-1, "30", None, float("inf"), float("nan"), True)),
        *({"retention": value} for value in (0, -5, "90", 1.5, True)),
        {"on_event": 3},
        {"settings": {}},
    ],
)
def test_settings_that_cannot_be_are_refused(given):
    (name,) = given
    with pytest.raises(KronError, match=f"{name} cannot be") as refused:
        Scheduler("memory:", **given)
    assert refused.value.hint.startswith("use a")


def test_run_inside_an_event_loop_is_refused():
    async def script():
        Scheduler("memory:").run()

    with pytest.raises(KronError, match="inside an event loop") as refused:
        asyncio.run(script())
    assert "async with" in refused.value.hint


def test_why_at_a_time_without_a_zone_is_refused():
    async def script():
        async with Scheduler("memory:") as s:
            s.add(nothing, "daily")
            await s.why("nothing", datetime(2026, 3, 1))  # noqa: DTZ001  that is what is refused

    with pytest.raises(ValueError, match="has no zone"):
        asyncio.run(script())
