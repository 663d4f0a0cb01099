"""OpenAPI 3.1 document: FastAPI's description, plus the scope and the problems of every route."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from kron.apps.service.auth.caller import SCOPES, scope_of
from kron.apps.service.problem import may

_TEXT = {"type": "string"}
_PLACE = {"type": "object", "properties": {"at": _TEXT, "detail": _TEXT}, "required": ["at", "detail"]}
PROBLEM = {
    "type": "object",
    "description": "Error (RFC 9457): a code and a hint; for an error in a text also its place.",
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "code": {**_TEXT, "description": "stable; only the wording of messages can change"},
        "detail": _TEXT,
        "hint": {**_TEXT, "description": "how to correct the request"},
        "reason": {**_TEXT, "description": "stable reason of a 401 response"},
        "span": {"type": "array", "items": {"type": "integer"}, "description": "start and end of the error in `text`"},
        "text": _TEXT,
        "excerpt": {**_TEXT, "description": "the text with carets under the error"},
        "field": _TEXT,
        "errors": {"type": "array", "items": _PLACE},
    },
    "required": ["type", "title", "status", "code"],
}


def describe(app: FastAPI) -> None:
    """Add the full OpenAPI description to an application."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            said = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            app.openapi_schema = _completed(said, [route for route in app.routes if isinstance(route, APIRoute)])
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(said: dict[str, Any], routes: list[APIRoute]) -> dict[str, Any]:
    for route in (route for route in routes if route.include_in_schema):
        for method in route.methods or ():
            operation, scope = said["paths"][route.path_format][method.lower()], scope_of(route)
            answers = {
                **operation["responses"],
                **{str(status): said for status, said in may(*_refusals(route)).items()},
            }
            operation["responses"] = dict(sorted(answers.items()))
            operation["security"] = [{"bearer": [scope]}] if scope else []
    schemas = said["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM
    words = "JWT of the configured issuer. Scopes: " + "; ".join(f"`{name}`: {what}" for name, what in SCOPES.items())
    bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": words}
    said["components"]["securitySchemes"] = {"bearer": bearer}
    return said


def _refusals(route: APIRoute) -> list[int]:
    """Return the error statuses that every route of its kind has; a route declares the others itself."""
    known = [400, 401, 403, 429, 503] if scope_of(route) else []
    asked = route.dependant
    if asked.path_params or asked.query_params or asked.header_params:
        known.append(422)
    if route.body_field:
        known += [408, 413, 415, 422]
    if any(name in route.path for name in ("{schedule_id}", "{key}")) and "PUT" not in (route.methods or ()):
        known.append(404)
    if any(param.name == "if_match" for param in asked.header_params):
        known.append(412)
    return known
