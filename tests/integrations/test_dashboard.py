"""The dashboard inside applications of FastAPI, Flask and Django, each served by its own server."""

import json
import re
from contextlib import contextmanager
from textwrap import dedent

import pytest

from tests.dashboard.served import Site
from tests.integrations.project import Project
from tests.integrations.web import gunicorn, serving, uvicorn
from tests.postgres import free_port

FASTAPI = """
    from fastapi import FastAPI
    from kron import Scheduler
    from kron.integrations.fastapi import kron_lifespan

    scheduler = Scheduler("sqlite:jobs.db")

    @scheduler.cron("* * * * *")
    async def report(): ...

    def allow(request):
        return {"a": "operator", "b": "viewer"}.get(request.headers.get("x-user"))

    app = FastAPI(lifespan=kron_lifespan(scheduler))
    app.mount("/kron", scheduler.dashboard(allow=allow))
    app.mount("/local/kron", scheduler.dashboard())
"""
FLASK = """
    from flask import Flask, request
    from kron.integrations.flask import Kron
    from kron.integrations.flask_dashboard import dashboard

    app = Flask(__name__)
    app.config["KRON_STORE"] = "sqlite:jobs.db"
    kron = Kron(app)

    @kron.cron("* * * * *")
    def report(): ...

    def allow():
        return {"a": "operator", "b": "viewer"}.get(request.headers.get("x-user"))

    app.register_blueprint(dashboard(allow), url_prefix="/kron")
    app.register_blueprint(dashboard(name="local"), url_prefix="/local/kron")
"""
URLS = """
    from django.urls import include, path
    from kron.integrations.django.dashboard import dashboard_urls

    def allow(request):
        return {"a": "operator", "b": "viewer"}.get(request.headers.get("x-user"))

    urlpatterns = [
        path("kron/", include(dashboard_urls(allow))),
        path("local/kron/", include(dashboard_urls())),
    ]
"""


SERVERS = {"fastapi": uvicorn, "flask": gunicorn, "django": gunicorn}
pytestmark = pytest.mark.slow


@contextmanager
def application(kind, folder):
    """An application with the dashboard, served, as a browser sees it."""
    port, environment = free_port(), {}
    if kind == "django":
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}
        environment = {"DATABASE": json.dumps(database), "KRON": json.dumps({"STORE": "sqlite:jobs.db"})}
        Project(folder, environment)
        (folder / "urls.py").write_text(dedent(URLS))
    else:
        (folder / "site_app.py").write_text(dedent(FASTAPI if kind == "fastapi" else FLASK))
    name = "wsgi:application" if kind == "django" else "site_app:app"
    with serving(SERVERS[kind](name, port), port, folder, **environment) as server:
        server.wait("/local/kron/")
        yield Site(port)


@pytest.fixture(params=["fastapi", "flask", "django"], scope="module")
def site(request, tmp_path_factory):
    with application(request.param, tmp_path_factory.mktemp(request.param)) as site:
        yield site


def test_application_decides_who_sees_the_dashboard(site):
    assert site.get("/kron/").status == 401
    for user, note in (("a", "operator"), ("b", "viewer")):
        reply = site.get("/kron/", **{"X-User": user})
        assert (reply.status, note in reply.text) == (200, True)


def test_dashboard_without_a_decision_is_for_this_machine_only(site):
    assert site.get("/local/kron/").status == 200
    assert site.get("/local/kron/", Host="evil.example").status == 401


def test_pages_files_and_forms_work_under_the_path_of_the_mount(site):
    text = site.get("/local/kron/").text
    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', text)
    assert len(addresses) > 8
    assert all(address.startswith("/local/kron/") for address in addresses)
    style = next(address for address in addresses if address.endswith(".css"))
    assert "immutable" in site.get(style).headers["cache-control"]
    token = re.search(r'name="form_token" value="([^"]*)"', text)[1]
    assert site.send("/local/kron/zone", {"zone": "Asia/Kathmandu"}, token="0" * 64).status == 403
    reply = site.send(
        "/local/kron/zone", {"zone": "Asia/Kathmandu"}, token=token, Referer=f"{site.address}/local/kron/"
    )
    assert (reply.status, reply.headers["location"]) == (303, "/local/kron/")
    assert 'data-zone="Asia/Kathmandu"' in site.get("/local/kron/").text
