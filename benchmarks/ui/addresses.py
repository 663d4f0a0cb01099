"""Addresses: every page of the application, with filters, far pages and tenants of very different sizes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from tests.postgres import Server

from benchmarks.ui.schedules import LARGEST, MIDDLE, SMALL
from kron.apps.dashboard.app import page_routes
from kron.stores.statements import named
from kron.timing.zone import rfc3339

SCOPES = ("", LARGEST, MIDDLE, SMALL)
NO_PAGES = ("/stream",)  # stays open
SQL = named(Path(__file__).with_name("addresses.sql").read_text(encoding="utf-8"))
LABEL = "label=team=crm"
QUERIES = {  # of a page, in addition to the bare address; `{…}` is a parameter
    "/schedules": (
        *("q={prefix}", "q=zzz", "q=crm.weekl", "state=late", "state=paused", "q={prefix}&state=paused"),
        *("outcome=failed", "outcome=lost", "outcome=missed", "outcome=unschedulable"),
        *(LABEL, "label=team=nobody", f"{LABEL}&state=paused", f"{LABEL}&q={{prefix}}", f"{LABEL}&after={{after}}"),
        *("after={after}", "state=paused&after={after}", "outcome=failed&after={after}"),
    ),
    "/runs": (
        *("dead=1", "outcome=running", "outcome=failed", "outcome=lost", "outcome=missed", "outcome=unschedulable"),
        *("before={trouble}", "outcome=failed&before={trouble}", "dead=1&before={dead}"),
    ),
    "/activity": ("kind=changed", "kind=deleted", "who=ana.lopez", "who=nobody", "before={change}"),
    "/calendar": ("month={month}", "month=2031-05"),
    "/load": ("hour={hour}",),
    "/schedules/{name}": ("before={time}", "after={time}"),
    "/try": ("s=0+9+*+*+1-5&zone=Europe/Paris", "s=nonsense"),
}
_PARAMETER = re.compile(r"\{([a-z]+)\}")


class Template(NamedTuple):
    """Addresses of one page that differ in their parameters only.

    Attributes:
        page: Path of the page, as the application names it.
        scope: Tenant; empty: all schedules.
        text: Address with parameters.
        values: Values of each parameter, at least one.
    """

    page: str
    scope: str
    text: str
    values: dict[str, list[str]]

    def address(self, number: int) -> str:
        """Return the nth address."""
        return _PARAMETER.sub(lambda match: self.values[match[1]][number % len(self.values[match[1]])], self.text)


def page_paths() -> list[str]:
    """Return the paths of all pages of the application."""
    paths = [route.path for route in page_routes() if "GET" in (route.methods or ())]
    return [path for path in dict.fromkeys(paths) if path not in NO_PAGES]


def templates(server: Server, database: str, scopes: tuple[str, ...] = SCOPES) -> Iterator[Template]:
    """Yield the addresses of all pages, for all schedules and for some tenants."""
    for scope in scopes:
        values = _values(server, database, scope)
        for path in page_paths():
            for query in ("", *QUERIES.get(path, ())):
                text = (f"/t/{scope[:-1]}" if scope else "") + path + (f"?{query}" if query else "")
                names = _PARAMETER.findall(text)
                missing = [name for name in names if name not in values]
                assert not missing, f"{path} has a parameter without values: {missing}"
                if all(values[name] for name in names):  # a small tenant may have no dead letter
                    yield Template(path, scope, text, {name: values[name] for name in names})


def _values(server: Server, database: str, scope: str) -> dict[str, list[str]]:
    """Return values of each parameter."""
    now = int(time.time())
    middle = (now - 10 * 86_400) * 1000
    values = {
        name: [row[0] for row in server.sql(_literal(query, scope, middle), database)] for name, query in SQL.items()
    }
    names = [name.removeprefix(scope) for name in values["name"]]
    wall = time.gmtime(now - 20 * 86_400)
    return values | {
        "name": [quote(quote(name, safe=""), safe="") for name in names],
        "prefix": [quote(name[:9], safe="") for name in names],
        "after": [quote(name, safe="") for name in names],
        "change": [quote(text, safe="") for text in values["change"]],
        "month": [f"{wall.tm_year}-{wall.tm_mon:02d}"],
        "hour": [str((now // 3600 + hours) * 3600) for hours in (5, 30, 100)],
        "time": [quote(rfc3339((now // 3600 - hours) * 3600)) for hours in (24, 200, 600)],
    }


def _literal(query: str, scope: str, middle: int) -> str:
    return query.replace("%(scope)s", f"'{scope}'").replace("%(middle)s", str(middle))
