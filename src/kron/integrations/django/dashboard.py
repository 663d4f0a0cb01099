"""Dashboard for Django, as URL patterns."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt

from kron.apps.dashboard.access import LoopbackAccess, Role, viewer_with
from kron.apps.dashboard.bridge import WebRequest, WebResponse, headers_of
from kron.apps.dashboard.form import MAX_FORM_BYTES
from kron.integrations.django.lazy_scheduler import project_scheduler
from kron.integrations.scheduler_pages import pages_of


def dashboard_urls(allow: Callable[[HttpRequest], object] | None = None) -> list[URLPattern]:
    """Return the dashboard of the project's scheduler: `path("kron/", include(dashboard_urls(allow=...)))`.

    Args:
        allow: Function that gets the request and returns `"operator"`, `"viewer"` or None. Without it, only requests
            of this machine are answered, without a login.
    """
    loopback = LoopbackAccess(Role.OPERATOR)

    def show(request: HttpRequest, page: str) -> HttpResponse:
        client = str(request.META.get("REMOTE_ADDR", ""))
        if allow is None:
            viewer = loopback.viewer_of([str(request.META.get("HTTP_HOST", ""))], client, request.headers.keys())
        else:
            viewer = viewer_with(allow(request), str(getattr(request, "user", "")))
        web_request = WebRequest(
            request.method or "GET",
            f"/{page}",
            request.path.removesuffix(f"/{page}"),
            str(request.META.get("QUERY_STRING", "")).encode("latin-1"),
            headers_of(request.META),
            request.read(MAX_FORM_BYTES + 1),
            request.scheme or "http",
            client,
        )
        return _response_of(pages_of(project_scheduler()).answer(web_request, viewer))

    return [re_path(r"^(?P<page>.*)$", csrf_exempt(show))]  # its forms carry a token of their own


def _response_of(answer: WebResponse) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status)
    for name, value in answer.headers:
        if name == "set-cookie":
            response.cookies.load(value)
        else:
            response[name] = value
    return response
