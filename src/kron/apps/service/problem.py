"""Problem details (RFC 9457): every error response has the code, the place and the hint of Kron's error."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from kron.apps.http_status import entry_of, http_status
from kron.errors import (
    AccessDenied,
    Contended,
    KronError,
    LanguageError,
    NotFound,
    RevisionConflict,
    StoreUnavailable,
    StoreUnsuitable,
    UnreadableRecord,
    WriteRejected,
)

MEDIA = "application/problem+json"
DESCRIPTIONS = {  # descriptions of the error responses
    400: "The URL contains a NUL character",
    401: "Missing or invalid token; `reason` says why",
    403: "The token lacks the scope",
    404: "Unknown schedule or run",
    408: "The body did not arrive in time",
    409: "Conflict: the key belongs to another definition, or the run has not failed",
    412: "The revision of the schedule has changed",
    410: "The schedule was deleted",
    413: "The body is too long",
    415: "The content type is not supported",
    422: "Invalid request; the problem says where and why",
    429: "Quota exceeded; Retry-After says when to retry",
    501: "The part is not configured",
    503: "The store, the issuer's keys or the audit log is unavailable",
}
_PUBLIC_DETAILS: dict[type[KronError] | str, str] = {  # without internals; another tenant's schedule seems not to exist
    NotFound: "unknown schedule or run",
    WriteRejected: "write rejected by the store",
    UnreadableRecord: "a stored record is unreadable",
    StoreUnavailable: "the store is unavailable",
    "STORE_TIMEOUT": "the store did not answer in time",
    StoreUnsuitable: "the store is not ready",
    Contended: "the schedule was modified concurrently",
    RevisionConflict: "the schedule has another revision, or does not exist",
}


def problem(error: KronError) -> dict[str, Any]:
    """Return an error as a problem: a stable code, the message, the place in the text, and the hint."""
    public_detail = entry_of(_PUBLIC_DETAILS, error)
    body: dict[str, Any] = {
        "type": f"urn:kron:problem:{error.code.lower().replace('_', '-')}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status_of(error),
        "code": error.code,
        "detail": public_detail or error.message,
    }
    if error.hint and not public_detail:
        body["hint"] = error.hint
    if isinstance(error, AccessDenied) and "reason" in error.details:
        body["reason"] = error.details["reason"]
    if isinstance(error, LanguageError):
        body |= {"span": list(error.span), "text": error.place.text[:1000], "excerpt": error.place.excerpt()}
        body |= {"field": error.place.source} if error.place.source else {}
        body |= {"read_by": error.details["read_by"]} if "read_by" in error.details else {}
    return body


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, KronError):
        return http_status(error)
    if isinstance(error, RequestValidationError):
        return 422
    if isinstance(error, HTTPException):
        return 422 if error.status_code == 400 else error.status_code
    return 500


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of error statuses, for a route."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": DESCRIPTIONS[status], "content": content} for status in statuses}


def error_response(error: KronError) -> JSONResponse:
    """Return the response to an error."""
    body = problem(error)
    headers = {}
    if body["status"] == 401:
        headers["WWW-Authenticate"] = _challenge(error)
    if body["status"] in (429, 503):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    return JSONResponse(body, body["status"], headers, MEDIA)


def _challenge(error: KronError) -> str:
    """Return the challenge of RFC 6750: without details for a missing token, with the reason for a rejected one."""
    if error.details.get("reason", "missing") == "missing":
        return "Bearer"
    return f'Bearer error="invalid_token", error_description="{error.message}"'


def invalid(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the problem of an invalid body or parameter. Values are not repeated."""
    places = [{"at": "/".join(map(str, error["loc"])), "detail": str(error["msg"])[:300]} for error in errors[:20]]
    return {
        "type": "urn:kron:problem:invalid",
        "title": "Invalid",
        "status": 422,
        "code": "INVALID",
        "detail": "; ".join(f"{place['at']}: {place['detail']}" for place in places[:3]),
        "hint": "see /openapi.json",
        "errors": places,
    }


def register_error_handlers(app: FastAPI) -> None:
    """Make an application answer all errors with problems."""

    @app.exception_handler(KronError)
    async def refused(request: Request, error: KronError) -> JSONResponse:
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        body = invalid(list(error.errors()))
        return JSONResponse(body, 422, media_type=MEDIA)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # body is not text; a body that is not JSON gets the same answer
            return JSONResponse(invalid([{"loc": ("body",), "msg": "cannot be decoded"}]), 422, media_type=MEDIA)
        code = {404: "NO_ROUTE", 405: "METHOD"}.get(error.status_code, "HTTP")
        body = {"type": "about:blank", "title": str(error.detail)[:200], "status": error.status_code, "code": code}
        headers = {"Allow": ", ".join(_allowed(request))} if error.status_code == 405 else error.headers
        return JSONResponse(body, error.status_code, headers, MEDIA)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        body = {"type": "about:blank", "title": "Internal error", "status": 500, "code": "INTERNAL"}
        return JSONResponse(body, 500, media_type=MEDIA)


def _allowed(request: Request) -> list[str]:
    """Return the allowed methods of a path. A literal path takes precedence over a pattern."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    path = next((route.path for route in routes if route.matches(request.scope)[0] is not Match.NONE), "")
    return sorted({method for route in routes if route.path == path for method in route.methods or ()})
