"""Problems: every refusal as RFC 9457 says, with the code, the place and the hint that Kron's errors carry."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from kron.errors import KronError, LanguageError

MEDIA = "application/problem+json"
WORDS = {  # of the answers that are none
    400: "The URL contains a NUL character",
    401: "Nobody is known by this token; the problem says why",
    403: "The token lacks the scope",
    404: "There is no such schedule or run",
    408: "The body did not arrive in time",
    409: "It is not what it would have to be: another definition under the same key, a run that has not failed",
    412: "It has another revision by now",
    410: "It was deleted",
    413: "The body is too long",
    415: "The content type is not supported",
    422: "It cannot be understood; the problem says where and why",
    429: "Too many; Retry-After says when to try again",
    501: "This service lacks the part",
    503: "The store, the keys of the issuer or the audit log cannot be used now",
}
_STATUS = {
    "BAD_URL": 400,
    "SLOW_BODY": 408,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "FOREIGN_HOST": 403,
    "FOREIGN_ORIGIN": 403,
    "NOT_FOUND": 404,
    "EXISTS": 409,
    "NOT_DEAD": 409,
    "GONE": 410,
    "REVISION": 412,
    "TOO_LARGE": 413,
    "MEDIA_TYPE": 415,
    "QUOTA": 429,
    "STORE_REFUSED": 500,
    "CORRUPT_ROW": 500,
    "STORE_FAILED": 503,
    "STORE_TIMEOUT": 503,
    "NOT_A_STORE": 503,
    "CONTENDED": 503,
    "KEYS": 503,
    "AUDIT": 503,
    "MISSING_PART": 501,
}
_PLAIN = {  # what is inside stays inside; and what is another's is as if it were not there
    "NOT_FOUND": "there is no such schedule or run",
    "STORE_REFUSED": "the record refused this",
    "CORRUPT_ROW": "a record cannot be read",
    "STORE_FAILED": "the store does not answer",
    "STORE_TIMEOUT": "the store does not answer in time",
    "NOT_A_STORE": "the store is not ready",
    "CONTENDED": "others keep changing this schedule",
    "REVISION": "the schedule has another revision by now, or is not there",
}


def problem(error: KronError) -> dict[str, Any]:
    """An error as a problem: a stable code, what is wrong, where in the text, and what would do."""
    said: dict[str, Any] = {
        "type": f"urn:kron:problem:{error.code.lower().replace('_', '-')}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status_of(error),
        "code": error.code,
        "detail": _PLAIN.get(error.code, error.message),
    }
    if error.hint and error.code not in _PLAIN:
        said["hint"] = error.hint
    if error.code == "UNAUTHENTICATED" and "reason" in error.details:
        said["reason"] = error.details["reason"]
    if isinstance(error, LanguageError):
        said |= {"span": list(error.span), "text": error.place.text[:1000], "picture": error.place.picture()}
        said |= {"field": error.place.source} if error.place.source else {}
    return said


def status_of(error: Exception) -> int:
    """The status with which an error is answered."""
    if isinstance(error, KronError):
        return _STATUS.get(error.code, 422)
    if isinstance(error, RequestValidationError):
        return 422
    if isinstance(error, HTTPException):
        return 422 if error.status_code == 400 else error.status_code
    return 500


def may(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route may refuse, for its description."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": WORDS[status], "content": content} for status in statuses}


def answer(error: KronError) -> JSONResponse:
    """The response to an error."""
    said = problem(error)
    headers = {}
    if said["status"] == 401:
        headers["WWW-Authenticate"] = _challenge(error)
    if said["status"] in (429, 503):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    return JSONResponse(said, said["status"], headers, MEDIA)


def _challenge(error: KronError) -> str:
    """What RFC 6750 asks for: nothing more to a request without a token, and why to one whose token is refused."""
    if error.details.get("reason", "missing") == "missing":
        return "Bearer"
    return f'Bearer error="invalid_token", error_description="{error.message}"'


def invalid(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """The problem of a body or a parameter that is not what the interface says. Values are not repeated."""
    places = [{"at": "/".join(map(str, each["loc"])), "detail": str(each["msg"])[:300]} for each in errors[:20]]
    return {
        "type": "urn:kron:problem:invalid",
        "title": "Invalid",
        "status": 422,
        "code": "INVALID",
        "detail": "; ".join(f"{place['at']}: {place['detail']}" for place in places[:3]),
        "hint": "see /openapi.json",
        "errors": places,
    }


def teach(app: FastAPI) -> None:
    """Let an application answer with problems only."""

    @app.exception_handler(KronError)
    async def refused(request: Request, error: KronError) -> JSONResponse:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        said = invalid(list(error.errors()))
        return JSONResponse(said, 422, media_type=MEDIA)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # of a body whose bytes are no text; one whose text is no JSON is answered so too
            return JSONResponse(invalid([{"loc": ("body",), "msg": "it cannot be decoded"}]), 422, media_type=MEDIA)
        code = {404: "NO_ROUTE", 405: "METHOD"}.get(error.status_code, "HTTP")
        said = {"type": "about:blank", "title": str(error.detail)[:200], "status": error.status_code, "code": code}
        headers = {"Allow": ", ".join(_allowed(request))} if error.status_code == 405 else error.headers
        return JSONResponse(said, error.status_code, headers, MEDIA)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        said = {"type": "about:blank", "title": "Internal error", "status": 500, "code": "INTERNAL"}
        return JSONResponse(said, 500, media_type=MEDIA)


def _allowed(request: Request) -> list[str]:
    """The methods of a path; each route knows only its own. A path that is written out comes before a pattern."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    path = next((route.path for route in routes if route.matches(request.scope)[0] is not Match.NONE), "")
    return sorted({method for route in routes if route.path == path for method in route.methods or ()})
