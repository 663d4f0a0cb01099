"""Static files: style, script and fonts, all delivered by the dashboard itself."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kron.apps.dashboard.security_headers import FILE_CACHING

TYPES = {
    "kron.css": "text/css",
    "kron.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
    "fonts/inter.woff2": "font/woff2",
    "fonts/plex-mono.woff2": "font/woff2",
}


@cache
def content_of(name: str) -> bytes:
    """Return the content of a static file."""
    return files("kron.apps.dashboard").joinpath("static", *name.split("/")).read_bytes()


@cache
def digest_of_files() -> str:
    """Return the digest of all static files. It is part of their addresses, so that browsers can keep them forever."""
    digest = hashlib.sha256()
    for name in TYPES:
        digest.update(content_of(name))
    return digest.hexdigest()[:12]


async def static_file(request: Request) -> Response:
    """Return a static file. Only the listed files can be named."""
    name, digest = request.path_params["name"], request.path_params["digest"]
    if name not in TYPES:
        raise HTTPException(404)
    caching = FILE_CACHING if digest == digest_of_files() else "no-store"
    return Response(content_of(name), media_type=TYPES[name], headers={"cache-control": caching})
