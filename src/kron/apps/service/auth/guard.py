"""Guard of every route: it checks the token, then the scope, then the body, and records each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from kron.apps.service.auth.audit import CHANGING_METHODS, facts_of
from kron.apps.service.auth.caller import Caller, scope_of
from kron.apps.service.auth.proxies import address_of
from kron.apps.service.bodies import check_type, read_json
from kron.apps.service.problem import status_of
from kron.engine.events import Event
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import AccessDenied, KronError, QuotaExceeded

Handle = Callable[[Request], Coroutine[Any, Any, Response]]

MAX_CONCURRENT_REQUESTS = 200  # concurrent requests per tenant and process


class Guarded(APIRoute):
    """Route that requires a valid token before the body is read. FastAPI alone would read and parse the body first."""

    def get_route_handler(self) -> Handle:
        """Return the handler behind the guard."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            scope = scope_of(self)
            if scope is None:
                return await handle(request)
            caller = await _caller(request, request.app.state.parts)
            return await _respond(self, scope, caller, request, handle)

        return guarded


class Flights:
    """Counter of the requests in progress, by tenant."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    @contextmanager
    def of(self, caller: Caller) -> Iterator[None]:
        """Count one request while it is in progress. Raise QUOTA if the tenant has too many."""
        if self.count[caller.tenant] >= MAX_CONCURRENT_REQUESTS:
            message = f"limit of {MAX_CONCURRENT_REQUESTS} concurrent requests reached"
            raise QuotaExceeded("QUOTA", message, hint="wait for the responses", details={"retry_after": 1})
        self.count[caller.tenant] += 1
        try:
            yield
        finally:
            self.count[caller.tenant] -= 1
            if not self.count[caller.tenant]:
                del self.count[caller.tenant]


async def _caller(request: Request, parts: Any) -> Caller:
    """Return the caller. The reason of a rejected token is logged; the response has its class only."""
    try:
        caller: Caller = await parts.authenticator.authenticate(request)
    except KronError as error:
        address = address_of(request, parts.config.trusted_proxies)
        if request.method in CHANGING_METHODS:
            parts.audit.refused(facts_of(request, None, address), status_of(error))
        suppressed = parts.refusals.admit()
        if suppressed is not None:
            facts = {"code": error.code, "reason": error.details.get("reason"), "address": address}
            at = int(parts.audit.clock.now() * 1000)
            parts.sink(
                Event("caller_refused", at, {**facts, "path": request.url.path[:200], "unlogged_before": suppressed})
            )
        raise
    request.state.caller = caller
    set_tenant_scope(caller.prefix or ALL_TENANTS)
    return caller


async def _respond(route: APIRoute, scope: str, caller: Caller, request: Request, handle: Handle) -> Response:
    parts = request.app.state.parts
    changing, facts = request.method in CHANGING_METHODS, facts_of(request, caller, caller.address)
    with parts.flights.of(caller):
        try:
            if scope not in caller.scopes:
                raise AccessDenied(
                    "FORBIDDEN", f"the token lacks the scope {scope}", hint="use a token with this scope"
                )
            if changing:
                check_type(route, request)
            body = await read_json(route, request)
        except (KronError, RequestValidationError, HTTPException) as error:
            if changing:
                parts.audit.refused(facts, status_of(error))
            raise
        if not changing:
            return await handle(request)
        intent = await parts.audit.intend(facts, body)
        try:
            response = await handle(request)
        except Exception as error:
            record_result(parts, intent, status_of(error))
            raise
        record_result(parts, intent, response.status_code)
        return response


def record_result(parts: Any, intent: int, status: int) -> None:
    """Record the result of a change. If that fails, the change stands, and the next change is rejected."""
    if not parts.audit.result(intent, status):
        at = int(parts.audit.clock.now() * 1000)
        parts.sink(Event("audit_failed", at, {"intent": intent, "status": status}))
