"""FastAPI and Starlette: lifespan, dependency, and several uvicorn processes on one PostgreSQL."""

import asyncio
import json
from contextlib import asynccontextmanager
from textwrap import dedent

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from kron import Scheduler, StoreUnsuitable, UsageError
from kron.integrations.fastapi import RunningScheduler, kron_lifespan, running_scheduler
from tests.integrations.web import serving, until, uvicorn
from tests.postgres import free_port

APPLICATION = """
    import os, time
    from fastapi import FastAPI
    from kron import Scheduler
    from kron.integrations.fastapi import RunningScheduler, kron_lifespan

    scheduler = Scheduler(os.environ["STORE"])

    def note(text):
        with open("ran", "a") as file:
            file.write(f"{text} {os.getpid()}\\n")

    @scheduler.job("* * * * * *", dialect="service", name="tick")
    async def tick():
        note("tick")

    @scheduler.task
    def slow(seconds):
        note("begin")
        time.sleep(seconds)
        note("end")

    app = FastAPI(lifespan=kron_lifespan(scheduler))

    @app.post("/jobs/{name}")
    async def create(name: str, scheduler: RunningScheduler):
        await scheduler.create(name, slow, every="1h", args=(1.5,))
        return {"key": await scheduler.trigger(name), "process": os.getpid()}

    @app.get("/runs/{key}")
    def result(key: str, scheduler: RunningScheduler):
        return scheduler.sync.result(key, timeout=15).state

    @app.get("/runs")
    async def runs(scheduler: RunningScheduler):
        return [run.period.isoformat() for run in await scheduler.runs("tick", limit=1000) if run.succeeded]
"""


def ask(app, path):
    """The status, the headers and the JSON or text of a response, without a server."""

    async def request():
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": [], "http_version": "1.1", "scheme": "http", "server": ("test", 80), "root_path": ""}
        await app(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), b"".join(part.get("body", b"") for part in sent[1:])

    return request()


def application(scheduler, lifespan=None):
    app = FastAPI(lifespan=kron_lifespan(scheduler, lifespan))

    @app.get("/next")
    async def upcoming(scheduler: RunningScheduler) -> str:
        return str(await scheduler.next("report"))

    return app


def scheduler_with_report(url="memory:"):
    scheduler = Scheduler(url)
    scheduler.add(lambda: None, "0 9 1 1 *", name="report", dialect="posix")
    return scheduler


def test_route_gets_the_running_scheduler():
    app = application(scheduler_with_report())

    async def script():
        async with app.router.lifespan_context(app):
            return await ask(app, "/next")

    status, _, body = asyncio.run(script())
    assert (status, json.loads(body)[4:16]) == (200, "-01-01 09:00")


def test_route_without_a_running_scheduler_answers_503():
    app = application(scheduler_with_report())

    async def script():
        before = await ask(app, "/next")
        async with app.router.lifespan_context(app):
            pass
        return before, await ask(app, "/next")

    for status, headers, body in asyncio.run(script()):
        assert (status, headers[b"retry-after"]) == (503, b"5")
        assert json.loads(body)["detail"].startswith(
            "the scheduler is not running: the application was started without"
        )


def test_scheduler_that_was_stopped_answers_503():
    scheduler = scheduler_with_report()
    app = application(scheduler)

    async def script():
        async with app.router.lifespan_context(app):
            await scheduler.__aexit__(None, None, None)
            return await ask(app, "/next")

    status, _, body = asyncio.run(script())
    assert status == 503
    assert "it was stopped" in json.loads(body)["detail"]


def test_own_lifespan_encloses_the_scheduler_and_keeps_its_state():
    events, scheduler = [], scheduler_with_report()

    @asynccontextmanager
    async def own(app):
        events.append(("open", scheduler.is_running))
        yield {"pool": "open"}
        events.append(("close", scheduler.is_running))

    app = application(scheduler, own)

    async def script():
        async with app.router.lifespan_context(app) as state:
            events.append((state["pool"], scheduler.is_running))

    asyncio.run(script())
    assert events == [("open", False), ("open", True), ("close", False)]


def test_starlette_route_gets_the_running_scheduler():
    scheduler = scheduler_with_report()

    async def upcoming(request):
        return PlainTextResponse(str(await running_scheduler(request).next("report")))

    app = Starlette(routes=[Route("/next", upcoming)], lifespan=kron_lifespan(scheduler))

    async def script():
        async with app.router.lifespan_context(app):
            running = await ask(app, "/next")
        return running, await ask(app, "/next")

    (status, _, body), (later, _, reason) = asyncio.run(script())
    assert (status, body[4:16]) == (200, b"-01-01 09:00")
    assert (later, reason[:28]) == (503, b"the scheduler is not running")


def test_second_scheduler_of_an_application_is_refused():
    app = application(scheduler_with_report(), kron_lifespan(scheduler_with_report()))

    async def script():
        async with app.router.lifespan_context(app):
            pass

    with pytest.raises(UsageError, match="TWO_SCHEDULERS") as caught:
        asyncio.run(script())
    assert "declare all jobs on it" in caught.value.hint


def test_start_without_tables_says_what_to_run(server):
    scheduler = Scheduler(server.url(server.empty()))
    app = application(scheduler)

    async def script():
        async with app.router.lifespan_context(app):
            pass

    with pytest.raises(StoreUnsuitable) as caught:
        asyncio.run(script())
    assert "kron migrate" in caught.value.hint


@pytest.mark.slow
def test_uvicorn_workers_share_the_jobs_of_one_database(database, tmp_path):
    """Two workers: each period runs in one of them, and SIGTERM waits for a function that runs."""
    (tmp_path / "web.py").write_text(dedent(APPLICATION))
    port = free_port()
    with serving(uvicorn("web:app", port, "--workers", "2"), port, tmp_path, STORE=database) as web:
        web.wait("/runs")
        created = [web.ask(f"/jobs/{n}", {}) for n in range(6)]
        assert [status for status, _ in created] == [200] * 6
        assert [web.ask(f"/runs/{answer['key']}")[1] for _, answer in created] == ["success"] * 6
        periods = until(lambda: (found := web.ask("/runs")[1])[5:] and found)
        web.ask("/jobs/last", {})
        until(lambda: (tmp_path / "ran").read_text().count("begin") == 7)
        assert web.stop() == 0, web.text()
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    words = [word for word, _ in ran]
    assert words.count("begin") == words.count("end") == 7
    assert len(set(periods)) == len(periods) <= words.count("tick") <= len(periods) + 4  # those since, each once
    assert "Traceback" not in web.text()
