"""Addresses of all pages, with example values for the parameters of their paths."""

from __future__ import annotations

from kron.apps.dashboard.app import page_routes

PARAMETERS = {"name": "billing.invoices", "key": "{dead}"}  # `{dead}`: the key of the newest dead letter
QUERIES = {  # addresses of a page in addition to the bare one
    "/schedules": (
        "q=bill",
        "q=bilin",
        "state=late",
        "state=paused",
        "outcome=failed",
        "outcome=lost",
        "label=team=crm",
    ),
    "/runs": ("dead=1", "outcome=running", "outcome=failed", "outcome=lost", "outcome=cancelled"),
    "/activity": ("kind=changed", "who=ana.lopez", "kind=deleted&who=nobody"),
}


def page_paths() -> list[str]:
    """Return the paths of all pages."""
    return [route.path for route in page_routes() if "GET" in route.methods]


def addresses(dead: str) -> list[str]:
    """Return the addresses of all pages. A page with a parameter that has no example is an error."""
    found = []
    for path in page_paths():
        address = path.format(**PARAMETERS).format(dead=dead)
        found += [address, *(f"{address}?{query}" for query in QUERIES.get(path, ()))]
    return found
