"""A pytest plugin: run only the tests that claim given requirement ids, and print what became of them as JSON."""

from __future__ import annotations

import importlib
import json

import pytest

from tests.conftest import claimed

MARK = "claims: "  # begins the line that `tests.claims` reads


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--claim", action="append", default=[], help="a requirement id; may be repeated")
    parser.addoption("--patched", action="append", default=[], help="a module that must still be importable")


class Only:
    """Selects the tests of some ids and remembers the first failure."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids
        self.told: dict[str, str | int | None] = {"tests": 0, "failed": None, "error": None, "message": ""}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if not self.ids & set(claimed(item))]
        items[:] = [item for item in items if self.ids & set(claimed(item))]
        config.hook.pytest_deselected(items=others)
        self.told["tests"] = len(items)

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object]) -> None:
        if self.told["failed"] is None and call.excinfo:
            error = call.excinfo
            self.told |= {"failed": node.nodeid, "error": error.type.__name__, "message": str(error.value)[:200]}

    def pytest_unconfigure(self) -> None:
        print(f"\n{MARK}{json.dumps(self.told)}", flush=True)


def pytest_configure(config: pytest.Config) -> None:
    only = Only(set(config.getoption("--claim")))
    config.pluginmanager.register(only)
    for name in config.getoption("--patched"):
        try:
            importlib.import_module(name)
        except Exception as error:
            only.told |= {"failed": name, "error": "ImportError", "message": repr(error)[:200]}
            pytest.exit(f"{name} cannot be imported", returncode=2)
