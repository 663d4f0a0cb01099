"""Dashboard for Flask, as a blueprint."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response, request

from kron.apps.dashboard.access import LoopbackAccess, Role, viewer_with
from kron.apps.dashboard.bridge import WebRequest, headers_of
from kron.apps.dashboard.form import MAX_FORM_BYTES
from kron.integrations.flask import scheduler_of_app
from kron.integrations.scheduler_pages import pages_of


def dashboard(allow: Callable[[], object] | None = None, name: str = "kron_dashboard") -> Blueprint:
    """Return the dashboard of the application's scheduler: `app.register_blueprint(dashboard(), url_prefix="/kron")`.

    Args:
        allow: Function that returns `"operator"`, `"viewer"` or None for the current request. Without it, only requests
            of this machine are answered, without a login.
        name: Name of the blueprint.
    """
    blueprint, loopback = Blueprint(name, __name__), LoopbackAccess(Role.OPERATOR)

    @blueprint.route("/", defaults={"page": ""}, methods=["GET", "POST"])
    @blueprint.route("/<path:page>", methods=["GET", "POST"])
    def show(page: str) -> Response:
        hosts, client = request.headers.getlist("Host"), request.remote_addr or ""
        viewer = loopback.viewer_of(hosts, client, request.headers.keys()) if allow is None else viewer_with(allow())
        path = (request.script_root + request.path).removesuffix(f"/{page}")
        answer = pages_of(scheduler_of_app()).answer(
            WebRequest(
                request.method,
                f"/{page}",
                path,
                request.query_string,
                headers_of(request.environ),
                request.stream.read(MAX_FORM_BYTES + 1),
                request.scheme,
                client,
            ),
            viewer,
        )
        return Response(answer.body, answer.status, headers=list(answer.headers))

    return blueprint
