"""The generated pages of the reference. `make docs` writes them; tests/docs/test_site.py compares them."""

from collections.abc import Callable

from tests.docs.reference import cli, errors, events, http_api, kronjob, metrics, settings

GENERATED: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli.page,
    "reference/errors.md": errors.page,
    "reference/events.md": events.page,
    "reference/http-api.md": http_api.page,
    "reference/kronjob.md": kronjob.page,
    "reference/metrics.md": metrics.page,
    "reference/settings.md": settings.page,
}
