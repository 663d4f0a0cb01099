"""Django: jobs of `tasks.py`, `manage.py kron`, and views that create jobs in a process that runs none."""

import json
import re
import signal
import subprocess
from io import StringIO
from types import SimpleNamespace

import pytest
from psycopg.conninfo import conninfo_to_dict

from kron.integrations.django.management.commands.kron import Command
from kron.integrations.django.store_url import url_of
from tests.integrations.project import Project, database_of
from tests.integrations.web import gunicorn, serving, until
from tests.postgres import connect, free_port

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}


def environment(database, **kron):
    return {"DATABASE": json.dumps(database), **({"KRON": json.dumps(kron)} if kron else {})}


@pytest.fixture
def project(server, tmp_path):
    """A project on an empty PostgreSQL database, which is also the store."""
    name = server.empty()
    project = Project(tmp_path, environment(database_of(server.url(name), CONN_MAX_AGE=600)))
    project.url = server.url(name)
    yield project
    server.drop(name)


def notes(project):
    with connect(project.url) as connection:
        return connection.execute("SELECT text, process FROM shop_note ORDER BY id").fetchall()


def done(result):
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"NAME": "app", "USER": "u", "PASSWORD": "p@/:?w", "HOST": "db", "PORT": 6432},
         {"dbname": "app", "user": "u", "password": "p@/:?w", "host": "db", "port": "6432"}),
        ({"NAME": "app", "HOST": "/var/run/postgresql"}, {"dbname": "app", "host": "/var/run/postgresql"}),
        ({"NAME": "a b", "HOST": "::1", "USER": "ü"}, {"dbname": "a b", "host": "::1", "user": "ü"}),
        ({"NAME": "app", "OPTIONS": {"sslmode": "require", "pool": True}}, {"dbname": "app", "sslmode": "require"}),
    ],
)  # fmt: skip
def test_store_url_is_that_of_the_default_database(entry, expected):
    assert conninfo_to_dict(url_of(entry)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kron", "message", "hint"),
    [
        ({}, "no store is configured", 'KRON = {"STORE": "postgresql://user@host/database"}'),
        ({"STOR": "sqlite:jobs.db"}, 'unknown setting KRON["STOR"]', """did you mean 'KRON["STORE"]'?"""),
        ({"STORE": "jobs.db"}, "is not a store URL", "use sqlite:jobs.db"),
    ],
)
def test_wrong_settings_say_what_to_write(tmp_path, kron, message, hint):
    project = Project(tmp_path, environment(SQLITE, **kron))
    for words in (("check",), ("kron", "jobs")):
        result = project.manage(*words)
        assert result.returncode != 0
        assert message in result.stderr
        assert hint in result.stderr
        assert result.stderr.startswith("CommandError: error["), "no traceback"
        assert len(result.stderr.splitlines()) == 2


@pytest.mark.slow
def test_forgotten_migration_names_the_command(project):
    for action in ("run", "jobs"):
        result = project.manage("kron", action)
        assert result.returncode == 1
        assert "run `python manage.py kron migrate` first" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_worker_runs_jobs_and_ends_cleanly_on_sigterm(project):
    """Also: the commands control and inspect jobs, and no connection of a job is left open."""
    done(project.manage("makemigrations", "shop"))
    done(project.manage("migrate"))
    assert "up to date" in done(project.manage("kron", "migrate"))
    worker = project.start("kron", "run")
    try:
        assert "2 declared" in worker.stdout.readline()
        assert "success" in done(project.manage("kron", "trigger", "yearly", "--wait", "20"))
        assert ("yearly", worker.pid) in notes(project)
        until(lambda: sum(text == "tick" for text, _ in notes(project)) >= 4)
        jobs = done(project.manage("kron", "jobs"))
        assert re.search(r"^yearly\t\d{4}-01-01 09:00:00 UTC\t0 9 1 1 \*$", jobs, re.MULTILINE), jobs
        assert "executed" in done(project.manage("kron", "runs", "tick"))
        done(project.manage("kron", "pause", "tick"))
        assert re.search(r"^tick\tpaused", done(project.manage("kron", "jobs", "--prefix", "ti")), re.MULTILINE)
        done(project.manage("kron", "resume", "tick"))
        with connect(project.url) as connection:
            idle = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%shop_note%'"
            )
            idle += " AND pid <> pg_backend_pid()"
            assert until(lambda: connection.execute(idle).fetchone()[0] <= 2), "jobs leave connections open"
        code = (
            "from kron.integrations.django import scheduler as s;"
            "s.sync.create('long', 'slow', every='1h', args=('long', 2)); s.sync.trigger('long')"
        )
        done(project.manage("shell", "-c", code))  # which starts no jobs of its own
        until(lambda: ("begin long", worker.pid) in notes(project))
        worker.send_signal(signal.SIGTERM)
        output, _ = worker.communicate(timeout=60)
    finally:
        worker.kill()
        worker.wait()
    assert (worker.returncode, output.splitlines()[-1]) == (0, "stopped"), output
    assert "ResourceWarning" not in output  # a connection that a job has left open
    assert ("end long", worker.pid) in notes(project)
    assert {process for _, process in notes(project)} == {worker.pid}


def prepared(project):
    done(project.manage("makemigrations", "shop"))
    done(project.manage("migrate"))
    done(project.manage("kron", "migrate"))
    return project


@pytest.mark.slow
def test_views_create_jobs_that_the_worker_process_runs(project):
    """Gunicorn forks two workers from a master that has loaded the project; the web processes run no jobs."""
    prepared(project)
    port = free_port()
    command = gunicorn("wsgi:application", port, "--workers", "2", "--threads", "4", "--preload")
    with serving(command, port, project.folder, **project.environment) as web:
        web.wait()
        until(lambda: len({web.ask("/")[1]["process"] for _ in range(20)}) == 2)
        assert web.ask("/jobs/mail", {})[0] == 200
        assert web.ask("/jobs/mail", {})[0] == 500  # the name is in use
        found = web.ask("/threads")[1]["found"]
        assert found == [3] * 8
        assert web.ask("/")[1]["jobs"] == ["mail", "tick", "yearly"]
        assert notes(project) == []
        worker = project.start("kron", "run")
        try:
            until(lambda: ("end mail", worker.pid) in notes(project), 60)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=60)
        assert {process for _, process in notes(project)} == {worker.pid}
        assert web.stop() == 0


@pytest.mark.slow
def test_web_process_runs_jobs_if_it_is_configured(project):
    prepared(project)
    port = free_port()
    kron = json.dumps({"RUN_JOBS": True, "SHUTDOWN_TIMEOUT": 10})
    command = gunicorn("wsgi:application", port, "--workers", "1", "--threads", "4", "--preload")
    with serving(command, port, project.folder, **project.environment, KRON=kron) as web:
        web.wait()
        (child,) = web.children()
        until(lambda: sum(text == "tick" for text, _ in notes(project)) >= 2, 60)
        assert {process for _, process in notes(project)} == {child}
        done(project.manage("kron", "jobs"))  # a command runs no jobs, whatever the settings say
        assert web.stop() == 0


@pytest.mark.slow
def test_trigger_that_no_worker_runs_says_so(project):
    prepared(project)
    result = project.manage("kron", "trigger", "yearly", "--wait", "1")
    assert result.returncode == 1
    assert "is `manage.py kron run` running?" in result.stderr
    result = subprocess.run(
        project.command("kron", "pause", "monthly"), **project.options(), capture_output=True, check=False
    )
    assert "error[NOT_FOUND]" in result.stderr


def test_names_are_printed_without_escape_sequences():
    job = SimpleNamespace(name="cust-\x1b[2J", paused=True, next_run=None, schedule="daily\x07")
    scheduler = SimpleNamespace(sync=SimpleNamespace(jobs=lambda prefix, limit: [job], pause=print, resume=print))
    shown = StringIO()
    command = Command(stdout=shown)
    command._jobs(scheduler, {"prefix": "", "limit": 1})
    command._pause(scheduler, {"job": "\x1b[31mX"})
    command._resume(scheduler, {"job": "\x1b[31mX"})
    lines = ["cust-\\x1b[2J\tpaused\tdaily\\x07", "paused \\x1b[31mX", "resumed \\x1b[31mX"]
    assert shown.getvalue().splitlines() == lines
