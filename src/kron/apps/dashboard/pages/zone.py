"""Zone: the form in the footer by which viewers choose the zone in which all times are written."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from kron.apps.dashboard.form import Fields
from kron.apps.dashboard.view import ZONE_COOKIE, View
from kron.errors import InvalidSchedule, clip, nearest
from kron.timing.zone import zone, zone_names

YEAR_SECONDS = 31_536_000


async def choose_zone(view: View, fields: Fields) -> Response:
    """Keep the zone in a cookie, and return to the page from which the form came.

    Raises:
        InvalidSchedule: There is no such zone.
    """
    name = _zone_name(fields.get("zone", [""])[0].strip())
    referrer = urlsplit(view.request.headers.get("referer", ""))
    is_own = referrer.netloc == view.request.headers.get("host", "") and referrer.path.startswith("/")
    path = "/" + referrer.path.lstrip("/")  # one slash: no browser reads it as another host
    address = f"{path}?{referrer.query}".rstrip("?") if is_own else view.link()
    response = view.redirect(address)
    is_secure = view.request.url.scheme == "https"
    response.set_cookie(ZONE_COOKIE, name, max_age=YEAR_SECONDS, path="/", secure=is_secure, samesite="lax")
    return response


def _zone_name(name: str) -> str:
    try:
        return zone(name).name
    except LookupError:
        close = nearest(name, zone_names())
        hint = f"did you mean {close}?" if close else "use a name such as Europe/Paris"
        raise InvalidSchedule("UNKNOWN_ZONE", f"there is no time zone {clip(name)!r}", hint=hint) from None
