"""The interface as it is written down is the interface."""

import ast
import json
import re
import sys

import pytest
from fastapi import APIRouter

from kron.apps.cli import main
from kron.apps.service.app import interface, make_app
from kron.apps.service.auth.caller import PUBLIC_PATHS, SCOPES, check_routes, scope_of
from kron.errors import KronError
from tests.docs.page import ROOT
from tests.service.http import config

WRITTEN = ROOT / "docs" / "openapi.json"


def test_the_interface_is_the_one_that_is_checked_in():
    """`make docs` writes it."""
    assert json.loads(WRITTEN.read_text(encoding="utf-8")) == json.loads(json.dumps(interface()))


def test_it_is_openapi_3_1_and_every_operation_has_words_and_problems():
    said = interface()
    assert said["openapi"].startswith("3.1")
    for path, operations in said["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            refusals = {status: said for status, said in operation["responses"].items() if status[0] != "2"}
            assert path in PUBLIC_PATHS or {"401", "403", "503"} <= set(refusals), (method, path)
            assert path in PUBLIC_PATHS or all(
                "application/problem+json" in said["content"] for said in refusals.values()
            )
            assert operation["security"] or path in PUBLIC_PATHS, (method, path)
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(said)))
    assert refs == set(said["components"]["schemas"])  # each is there, and each is used


def test_every_route_says_its_scope_and_one_that_does_not_cannot_start():
    app = make_app(config())
    scopes = {route.path: scope_of(route) for route in app.routes if hasattr(route, "dependant")}
    assert scopes.pop("/healthz") is None
    assert scopes.pop("/readyz") is None
    assert set(scopes.values()) == set(SCOPES)
    router = APIRouter()

    @router.get("/back-door")
    async def back_door() -> None:
        pass

    with pytest.raises(KronError, match="back-door"):
        check_routes([*app.routes, *router.routes])


DASHBOARD_DOORS = {"apps/cli/commands/ui.py", "apps/embedded/scheduler_dashboard.py"}


def test_the_packages_of_the_service_are_imported_by_the_service_and_the_dashboard_alone():
    source, wanted = ROOT / "src" / "kron", {"fastapi", "starlette", "pydantic", "jwt", "uvicorn", "jinja2"}
    of_dashboard = {"starlette", "uvicorn", "jinja2"}
    for path in source.rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
        if names & wanted:
            where = path.relative_to(source).as_posix()
            is_service = where.startswith("apps/service/") or where == "apps/cli/commands/serve.py"
            is_dashboard = where.startswith("apps/dashboard/") or where in DASHBOARD_DOORS
            is_allowed = is_service or (is_dashboard and names & wanted <= of_dashboard)
            assert is_allowed or (path.parent.name == "integrations" and names & wanted == {path.stem}), where


def test_without_its_packages_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 1
    assert "pip install 'kron-py[service]'" in capsys.readouterr().err
