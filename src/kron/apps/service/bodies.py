"""Request bodies: content types, time limits, and JSON that is parsed outside of the event loop if it is large."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from math import isinf
from typing import Any, NoReturn

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from kron.errors import InvalidInput, Unavailable

INLINE_BYTES = 64 * 1024  # larger bodies are parsed in a thread
MAX_DEPTH = 100  # maximum nesting of lists and objects
MAX_CONTAINERS = 50_000  # maximum lists and objects in a body: each needs far more memory than its two bytes
BODY_TIMEOUT_SECONDS = 30.0  # for a body that is parsed as a whole, and between two chunks of a streamed body
NDJSON = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_ESCAPE = re.compile(rb"\\u[dD0]")  # a surrogate or a control character can follow
_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"|[\[\]{}]', re.DOTALL)  # a whole string, or a bracket
_PARSER = ThreadPoolExecutor(1, "kron-parser")  # one thread: bounds the load that large bodies put on other requests


def check_type(route: APIRoute, request: Request) -> None:
    """Reject content types that the route does not accept. Browsers send theirs across origins without a preflight."""
    content_type = request.headers.get("content-type")
    if content_type is None and not (route.body_field or streamed(route)) and not _has_body(request):
        return
    message = Message()
    message["content-type"] = content_type or "application/octet-stream"
    kind = message.get_content_type()
    if streamed(route) and kind in NDJSON:
        return
    if not streamed(route) and (kind == "application/json" or re.fullmatch(r"application/[a-z0-9.-]+\+json", kind)):
        return
    expected = "application/x-ndjson" if streamed(route) else "application/json"
    raise InvalidInput("MEDIA_TYPE", "unsupported content type", hint=f"send Content-Type: {expected}")


def streamed(route: APIRoute) -> bool:
    """Return whether a route reads its body line by line."""
    return "requestBody" in (route.openapi_extra or {})


async def read_json(route: APIRoute, request: Request) -> Any:
    """Read and parse the body of a request once; None if the route has no body."""
    if not route.body_field:
        return None
    try:
        body = await asyncio.wait_for(request.body(), BODY_TIMEOUT_SECONDS)
    except TimeoutError:
        raise Unavailable(
            "SLOW_BODY", f"the body did not arrive within {BODY_TIMEOUT_SECONDS:.0f} s", hint="retry"
        ) from None
    except ClientDisconnect:
        raise HTTPException(400) from None
    if not body:
        return None
    if len(body) > INLINE_BYTES:
        value = await asyncio.get_running_loop().run_in_executor(_PARSER, parse, body)
    else:
        value = parse(body)
    request._json = value  # the value that Request.json() returns from now on
    return value


async def chunks(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks of a streamed body. Raise SLOW_BODY if the sender stalls."""
    while True:
        try:
            yield await asyncio.wait_for(anext(stream), BODY_TIMEOUT_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unavailable("SLOW_BODY", f"no data arrived for {BODY_TIMEOUT_SECONDS:.0f} s", hint="retry") from None


def parse(body: bytes) -> Any:
    """Parse a JSON text. NaN, Infinity, NUL and lone surrogates are rejected, because not every store can keep them."""
    if body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        _reject(f"more than {MAX_CONTAINERS} lists and objects")
    if _depth(body) > MAX_DEPTH:
        _reject(f"more than {MAX_DEPTH} levels of nested lists and objects")
    try:
        value = json.loads(body.decode(), parse_constant=_constant, parse_float=_finite)
        if _ESCAPE.search(body):
            text = json.dumps(value, ensure_ascii=False)
            text.encode()
            if _NUL.search(text):
                _reject("a NUL character")
    except (ValueError, RecursionError) as error:
        _reject(error.msg if isinstance(error, json.JSONDecodeError) else "the JSON cannot be stored")
    return value


def _depth(body: bytes) -> int:
    """Return the nesting depth of a JSON text. Without this check, only the stack size would bound the parser."""
    deepest = depth = 0
    for match in _STRUCTURE.finditer(body) if body.count(b"[") + body.count(b"{") > MAX_DEPTH else ():
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(match.group(), 0)
        deepest = max(deepest, depth)
    return deepest


def _constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not valid JSON", name, 0)


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise json.JSONDecodeError("a number is too large", text, 0)
    return number


def _reject(reason: str) -> NoReturn:
    raise RequestValidationError([{"type": "json_invalid", "loc": ("body",), "msg": reason}]) from None


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
