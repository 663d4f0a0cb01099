"""The pages on the service: their tables are what the code says."""

import re
from dataclasses import fields

import pytest

from kron.apps.service.app import make_app
from kron.apps.service.auth.caller import scope_of
from kron.apps.service.config import Config
from tests.docs.page import ROOT, table
from tests.service.http import config

ROUTES, SETTINGS = ROOT / "docs" / "reference" / "http-api.md", ROOT / "docs" / "reference" / "settings.md"
SECURITY = ROOT / "docs" / "explanation" / "security-model.md"


def test_the_table_of_routes_is_the_application():
    routes = {
        f"{method} {route.path}": scope_of(route) or ""
        for route in make_app(config()).routes
        if hasattr(route, "dependant") and route.include_in_schema
        for method in route.methods
    }
    assert {row[0]: row[1] for row in table(ROUTES, "routes")} == routes


def test_the_table_of_settings_is_the_configuration():
    def written(value):
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

    rows = dict(
        re.findall(r'^\| <a id="(\w+)"></a>[^|]*\|([^|]*)\|', SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)
    )
    known = {each.name: written(each.default) for each in fields(Config)}
    assert {name: default.strip().strip("`") for name, default in rows.items()} == known


@pytest.mark.parametrize("row", table(SECURITY, "controls"), ids=lambda row: row[0])
def test_each_control_has_a_test_that_is_there(row):
    name, _, function = row[2].partition("::")
    assert f"def {function}(" in (ROOT / "tests" / "service" / name).read_text(encoding="utf-8")
