"""OpenAPI 3.1 document: FastAPI's description, plus the scope and the problems of every route."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from kron.apps.service.auth.caller import SCOPES, scope_of
from kron.apps.service.problem import error_responses

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
        "read_by": {"type": "array", "items": _TEXT, "description": "dialects that accept the text"},
        "errors": {"type": "array", "items": _PLACE},
    },
    "required": ["type", "title", "status", "code"],
}


def describe(app: FastAPI) -> None:
    """Add the full OpenAPI description to an application."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            app.openapi_schema = _complete_document(
                document, [route for route in app.routes if isinstance(route, APIRoute)]
            )
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete_document(document: dict[str, Any], routes: list[APIRoute]) -> dict[str, Any]:
    for route in (route for route in routes if route.include_in_schema):
        for method in route.methods or ():
            operation, scope = document["paths"][route.path_format][method.lower()], scope_of(route)
            responses = {
                **operation["responses"],
                **{str(status): response for status, response in error_responses(*_error_statuses(route)).items()},
            }
            operation["responses"] = dict(sorted(responses.items()))
            operation["security"] = [{"bearer": [scope]}] if scope else []
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM
    description = "JWT of the configured issuer. Scopes: " + "; ".join(
        f"`{name}`: {text}" for name, text in SCOPES.items()
    )
    bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": description}
    document["components"]["securitySchemes"] = {"bearer": bearer}
    return document


def _error_statuses(route: APIRoute) -> list[int]:
    """Return the error statuses that every route of its kind has; a route declares the others itself."""
    statuses = [400, 401, 403, 429, 503] if scope_of(route) else []
    dependant = route.dependant
    if dependant.path_params or dependant.query_params or dependant.header_params:
        statuses.append(422)
    if route.body_field:
        statuses += [408, 413, 415, 422]
    if any(name in route.path for name in ("{schedule_id}", "{key}")) and "PUT" not in (route.methods or ()):
        statuses.append(404)
    if any(param.name == "if_match" for param in dependant.header_params):
        statuses.append(412)
    return statuses
