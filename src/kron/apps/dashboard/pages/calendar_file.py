"""Calendar file: the upcoming runs of the next 30 days, to keep or to open in a calendar application."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.view import View
from kron.apps.ics import MEDIA
from kron.apps.run_calendar import MAX_SCHEDULES, run_calendar


async def calendar_file(view: View) -> Response:
    """Return the file. The parameter `q` is a beginning of names, as in the list of schedules."""
    prefix = view.identity(view.request.query_params.get("q", "").strip())
    states = await view.registrar.schedules(prefix, limit=MAX_SCHEDULES)
    has_more = len(states) == MAX_SCHEDULES and bool(await view.store.identities(states[-1].identity, 1, prefix))
    text = await compute(run_calendar, states, view.name, view.now, has_more=has_more)
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="kron.ics"'}
    return Response(text, media_type=MEDIA, headers=headers)
