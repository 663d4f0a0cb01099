"""Addresses of all pages, with example values for the parameters of their paths."""

from __future__ import annotations

from kron.apps.dashboard.app import page_routes

PARAMETERS = {"name": "billing.invoices", "key": "{dead}"}  # `{dead}`: the key of the newest dead letter
QUERIES = {  # addresses of a page in addition to the bare one
    "/schedules": (
        "q=bill",
        "q=bilin",
        "q=sync",
        "q=e&match=inside",
        "sort=next",
        "state=late",
        "state=paused",
        "outcome=failed",
        "outcome=lost",
        "label=team=crm",
        "label=team=crm&select=all",
    ),
    "/runs": (
        "dead=1",
        "outcome=running",
        "outcome=failed",
        "outcome=lost",
        "outcome=cancelled",
        "outcome=failed&since=24h",
        "outcome=success",
        "q=crm.",
        "q=no.such",
    ),
    "/bulk/pause": ("select=all",),
    "/bulk/redrive": ("select=all",),
    "/activity": (
        "kind=people",
        "kind=trouble",
        "kind=workers",
        "kind=changed",
        "who=ana.lopez",
        "kind=deleted&who=nobody",
    ),
}


NO_PAGES = ("/stream", "/changes")  # what pages ask for while they are open


def page_paths() -> list[str]:
    """Return the paths of all pages."""
    return [route.path for route in page_routes() if "GET" in route.methods and route.path not in NO_PAGES]
