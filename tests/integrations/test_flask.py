"""Flask: extension, application context, and one scheduler in each process that serves requests."""

import os
import signal
import sys
from textwrap import dedent

import pytest
from flask import Flask, current_app

from kron import InvalidSetting, StoreUnsuitable, UsageError, current_run
from kron.integrations import process_scheduler
from kron.integrations.flask import Kron, current_scheduler, post_worker_init
from tests.integrations.web import gunicorn, serving, until
from tests.postgres import free_port

APPLICATION = """
    import os, time
    from flask import Flask, current_app
    from kron.integrations.flask import Kron, current_scheduler

    kron = Kron()

    def note(text):
        with open("ran", "a") as file:
            file.write(f"{text} {os.getpid()}\\n")

    @kron.job("* * * * * *", dialect="service")
    def tick():
        note(current_app.name)

    @kron.task
    def slow(seconds):
        note("begin")
        time.sleep(seconds)
        note("end")

    def create_app():
        app = Flask("shop")
        app.config["KRON_STORE"] = os.environ["STORE"]
        kron.init_app(app)
        note("created")

        @app.get("/")
        def index():
            return {"process": os.getpid(), "running": current_scheduler.is_running}

        @app.post("/jobs/<name>")
        def create(name):
            current_scheduler.sync.create(name, slow, every="1h", args=(1.5,))
            return {"key": current_scheduler.sync.trigger(name)}

        return app

    if os.environ.get("START_EARLY"):
        app = create_app()
        app.extensions["kron"].start()
    elif os.environ.get("CREATE_EARLY"):
        app = create_app()
"""


def application(kron=None, **config):
    app = Flask("shop")
    app.config.update({"KRON_STORE": "memory:", **config})
    kron = kron or Kron()
    kron.init_app(app)

    @app.get("/")
    def index():
        return {"running": current_scheduler.is_running}

    return app


@pytest.fixture
def ended():
    """Applications whose schedulers are ended after the test."""
    apps = []
    yield apps
    for app in apps:
        app.extensions["kron"].scheduler.shutdown()


def test_first_request_starts_the_scheduler(ended):
    app = application()
    ended.append(app)
    assert not app.extensions["kron"].scheduler.is_running
    with app.test_client() as client:
        assert [client.get("/").json for _ in range(2)] == [{"running": True}] * 2


def test_jobs_and_handlers_run_inside_an_application_context(ended):
    kron, seen = Kron(), []
    app = application(kron)
    ended.append(app)

    @kron.job("daily around 14:00")
    def plain():
        seen.append((current_run().job, current_app.name))

    @kron.job("daily around 14:00")
    async def coroutine():
        seen.append((current_run().job, current_app.name))
        current_scheduler.metrics()  # the proxy works in a job

    @kron.on_run_succeeded
    def handler(event):
        seen.append(("handler", current_app.name))

    with app.test_client() as client:
        client.get("/")
    scheduler = app.extensions["kron"].scheduler
    for name in ("plain", "coroutine"):
        assert scheduler.sync.result(scheduler.sync.trigger(name), timeout=10).succeeded
    scheduler.shutdown()
    assert sorted(seen) == [("coroutine", "shop"), ("handler", "shop"), ("handler", "shop"), ("plain", "shop")]


def test_one_extension_serves_several_applications(ended):
    kron, seen = Kron(), []

    @kron.job("daily around 14:00")
    def report():
        seen.append(current_app.config["NUMBER"])

    for number in range(2):
        app = application(kron, NUMBER=number)
        ended.append(app)
        with app.test_client() as client:
            client.get("/")
        scheduler = app.extensions["kron"].scheduler
        scheduler.sync.result(scheduler.sync.trigger("report"), timeout=10)
    assert seen == [0, 1]


def test_settings_reach_the_scheduler():
    app = application(KRON_RUN_JOBS=False, KRON_SHUTDOWN_TIMEOUT=3)
    scheduler = app.extensions["kron"].scheduler
    assert (scheduler.run_jobs, scheduler.patience) == (False, 3)


def test_missing_store_is_refused_with_what_to_write():
    with pytest.raises(InvalidSetting, match="KRON_STORE is not set") as caught:
        Kron(Flask("shop"))
    assert 'app.config["KRON_STORE"] = ' in caught.value.hint


def test_unknown_setting_is_refused_with_the_nearest():
    with pytest.raises(InvalidSetting, match="KRON_MAX_WORKER") as caught:
        application(KRON_MAX_WORKER=2)
    assert caught.value.hint == "did you mean 'KRON_MAX_WORKERS'?"


def test_second_extension_of_an_application_is_refused():
    app = application()
    with pytest.raises(UsageError, match="TWO_SCHEDULERS") as caught:
        Kron(app)
    assert "init_app() once" in caught.value.hint


def test_scheduler_used_before_its_start_says_so():
    app = application()
    with pytest.raises(UsageError, match="outside of an application context"):
        _ = current_scheduler.sync
    with app.app_context(), pytest.raises(UsageError, match="NOT_RUNNING"):
        current_scheduler.sync.jobs()
    with Flask("other").app_context(), pytest.raises(UsageError, match="init_app"):
        _ = current_scheduler.sync
    with app.app_context(), current_scheduler:
        assert current_scheduler.sync.jobs() == []


def test_failed_start_leaves_the_site_up_and_is_tried_again(server, monkeypatch, ended, caplog):
    """Without tables, a request is answered, and the view that needs the scheduler gets the reason."""
    monkeypatch.setattr(process_scheduler, "START_RETRY_SECONDS", 0.0)
    name = server.empty()
    app = application(KRON_STORE=server.url(name))
    ended.append(app)
    app.get("/plain")(lambda: "fine")
    app.testing = True
    with app.test_client() as client:
        assert client.get("/plain").text == "fine"
        assert "kron migrate" in caplog.text
        with pytest.raises(StoreUnsuitable, match="kron migrate"):
            client.get("/")
        import asyncio

        from kron.stores.postgres.migrate import migrate

        asyncio.run(migrate(server.url(name)))
        assert client.get("/").json == {"running": True}


def test_gunicorn_hook_needs_an_application_with_the_extension():
    class Worker:
        wsgi = Flask("shop")

    with pytest.raises(UsageError, match="has no scheduler") as caught:
        post_worker_init(Worker())
    assert "gunicorn.conf.py" in caught.value.hint


def written(folder):
    (folder / "web.py").write_text(dedent(APPLICATION))
    return folder


def lines(folder):
    file = folder / "ran"
    return [tuple(line.split()) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4], ids=["sync", "gthread"])
def test_gunicorn_preload_starts_after_the_fork(database, tmp_path, threads):
    """Each worker runs a scheduler after its first request, the master never; SIGTERM waits for running jobs."""
    port, folder = free_port(), written(tmp_path)
    command = gunicorn("web:app", port, "--workers", "2", "--threads", str(threads), "--preload")
    with serving(command, port, folder, STORE=database, CREATE_EARLY="1") as web:
        web.wait()
        master = str(web.process.pid)
        assert lines(folder)[0] == ("created", master)
        until(lambda: len({web.ask("/")[1]["process"] for _ in range(20)}) == 2)
        assert web.ask("/jobs/a", {})[0] == 200
        until(lambda: any(word == "begin" for word, _ in lines(folder)))
        until(lambda: sum(word == "shop" for word, _ in lines(folder)) >= 3)
        assert web.stop() == 0
        assert "Traceback" not in web.text()
    ran = lines(folder)
    assert [word for word, _ in ran].count("begin") == [word for word, _ in ran].count("end") == 1
    assert {pid for word, pid in ran if word in ("shop", "begin", "end")}.isdisjoint({master})


@pytest.mark.slow
def test_gunicorn_hook_starts_without_a_request(database, tmp_path):
    port, folder = free_port(), written(tmp_path)
    (folder / "gunicorn.conf.py").write_text("from kron.integrations.flask import post_worker_init\n")
    command = gunicorn("web:create_app()", port, "--workers", "2", "--threads", "2")
    with serving(command, port, folder, STORE=database) as web:
        until(lambda: sum(word == "shop" for word, _ in lines(folder)) >= 2, 60, "no job ran")
        killed = until(web.children)[0]
        os.kill(killed, signal.SIGKILL)
        until(lambda: sum(word == "created" for word, _ in lines(folder)) == 3, 60, "no new worker")
        assert web.stop() == 0
    assert str(web.process.pid) not in {pid for _, pid in lines(folder)}


@pytest.mark.slow
def test_scheduler_started_before_the_fork_names_the_mistake(database, tmp_path):
    port, folder = free_port(), written(tmp_path)
    command = gunicorn("web:app", port, "--workers", "1", "--preload")
    with serving(command, port, folder, STORE=database, START_EARLY="1") as web:
        web.wait()
        assert web.ask("/")[0] == 500
        assert "error[FORKED]" in web.text()
        assert "start the scheduler after the fork" in web.text()


@pytest.mark.slow
def test_reloader_parent_starts_no_scheduler(tmp_path):
    """`flask run --debug` has two processes that import the application; the one that serves runs the jobs."""
    port, folder = free_port(), written(tmp_path)
    command = [sys.executable, "-m", "flask", "--app", "web:create_app", "run", "--debug", "--port", str(port)]
    with serving(command, port, folder, STORE=f"sqlite:{folder}/jobs.db") as web:
        web.wait()
        serving_pid = str(web.ask("/")[1]["process"])
        until(lambda: sum(word == "shop" for word, _ in lines(folder)) >= 2)
        assert {pid for word, pid in lines(folder) if word == "shop"} == {serving_pid}
        assert serving_pid != str(web.process.pid)
