"""Bulk: pause, resume or run many schedules, or run many dead letters again, in batches of 500.

Nothing about a bulk action is stored. The address of its page has how far it came, so that it can be read again, and go
on after the process that serves it has died. A batch that is sent twice does nothing twice.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

from kron.apps.bulk_plan import BulkPlan, pause_plan, redrive_plan, resume_plan, trigger_plan
from kron.apps.dashboard.bulk_request import REDRIVE, RUN, BulkRequest, bulk_request, meant_by
from kron.apps.dashboard.form import SECRET_COOKIE, Fields, request_of, text_of, ticket_of, whole_number
from kron.apps.dashboard.moment import read_moment
from kron.apps.dashboard.view import View
from kron.apps.http_status import http_status
from kron.engine.bulk import BATCH_SIZE, MAX_BULK, BulkResult, pause_all, redrive_all, resume_all, trigger_all
from kron.errors import InvalidInput, QuotaExceeded
from kron.rules.pause import check_pause_end

MAX_WAIT_SECONDS = 61  # the quota of manual runs is whole again after a minute


class Progress(NamedTuple):
    """How far a bulk action came.

    Attributes:
        after: Last one that was handled; empty if nothing is left to do.
        done: How many were changed.
        kept: How many were in the requested state already.
        failed: How many could not be changed.
        example: Name of one that could not be changed, and why.
        wait: Seconds until the quota of manual runs allows the next batch; 0 if it does.
    """

    after: str = ""
    done: int = 0
    kept: int = 0
    failed: int = 0
    example: str = ""
    wait: int = 0

    @property
    def handled(self) -> int:
        """How many were handled."""
        return self.done + self.kept + self.failed

    @property
    def is_full(self) -> bool:
        """Whether the action is at its limit: the rest needs another confirmation."""
        return self.handled >= MAX_BULK


def bulk_page(kind: str) -> Callable[[View], Awaitable[Response]]:
    """Return the page of a kind: what the action would do, or how far it came."""

    async def page(view: View) -> Response:
        fields = _fields(view)
        request, name = bulk_request(kind, fields), text_of(fields, "request")
        if _is_confirmed(view, request, name, text_of(fields, "ticket")):
            return _progress_page(view, request, name, _progress(fields))
        return await _confirmation(view, request, _progress(fields).after)

    return page


def bulk(kind: str) -> Callable[[View, Fields], Awaitable[Response]]:
    """Return the action of a kind. It handles one batch, and shows how far it came."""

    async def action(view: View, fields: Fields) -> Response:
        request, name = bulk_request(kind, fields), request_of(fields)
        progress = _progress(fields)
        try:
            _until(view, request)
        except InvalidInput:
            return await _confirmation(view, request, progress.after)
        try:
            progress = await _next_batch(view, request, name, progress)
        except QuotaExceeded as error:
            if not progress.after:
                raise  # nothing was done: the error has the time to wait
            wait = error.details.get("retry_after")
            progress = progress._replace(wait=wait if isinstance(wait, int) else MAX_WAIT_SECONDS)
        ticket = _ticket(view, request, name)
        values = {**request.parameters, **progress._asdict(), "request": name, "ticket": ticket}
        return view.redirect(view.link(f"bulk/{kind}", **values))

    return action


async def _confirmation(view: View, request: BulkRequest, after: str) -> Response:
    """Return the page that shows what the action would do. If the end of a pause is wrong, it keeps the form."""
    meant = await meant_by(view, request, after, MAX_BULK + 1) if request.is_all or request.names else []
    refusal = None
    try:
        plan = await _plan(view, request, meant)
    except InvalidInput as error:
        plan, refusal = BulkPlan(min(len(meant), MAX_BULK), len(meant) > MAX_BULK), error
    return view.render(
        "bulk.html",
        http_status(refusal) if refusal else 200,
        section=_section(request.kind),
        request=request,
        plan=plan,
        after=after,
        refusal=refusal,
    )


async def _next_batch(view: View, request: BulkRequest, name: str, progress: Progress) -> Progress:
    """Handle one batch, and return how far the action came. The quota of manual runs can make a batch shorter."""
    quota = view.context.quota if request.is_all and request.kind in (RUN, REDRIVE) else None
    size = quota.batch_size(BATCH_SIZE) if quota else BATCH_SIZE
    batch = await meant_by(view, request, progress.after, size)
    result = await _act(view, request, batch, name) if batch else BulkResult(0, 0)
    is_more = request.is_all and len(batch) == size
    return _after_batch(view, progress, result)._replace(after=batch[-1] if is_more else "")


def _progress_page(view: View, request: BulkRequest, name: str, progress: Progress) -> Response:
    """Return how far the action came. It goes on by itself only if the browser says that it comes from this site.

    Another site on this host can set cookies, and so make a ticket. Then, and if a browser says nothing, a person must
    go on.
    """
    is_own = view.request.headers.get("sec-fetch-site") == "same-origin"
    return view.render(
        "bulk_progress.html",
        section=_section(request.kind),
        request=request,
        request_name=name,
        progress=progress,
        is_own=is_own,
    )


async def _plan(view: View, request: BulkRequest, meant: list[str]) -> BulkPlan:
    match request.kind:
        case "pause":
            return await pause_plan(view.store, meant, _until(view, request))
        case "resume":
            return await resume_plan(view.store, meant)
        case "run":
            return await trigger_plan(view.store, meant)
        case _:
            return await redrive_plan(view.registrar, meant)


async def _act(view: View, request: BulkRequest, batch: list[str], name: str) -> BulkResult:
    actor = view.actor(request.note)
    if request.kind in (RUN, REDRIVE):
        view.spend(len(batch))
    match request.kind:
        case "pause":
            return await pause_all(view.registrar, batch, actor, until=_until(view, request))
        case "resume":
            return await resume_all(view.registrar, batch, actor)
        case "run":
            return await trigger_all(view.registrar, batch, name, actor)
        case _:
            return await redrive_all(view.registrar, batch, actor=actor)


def _until(view: View, request: BulkRequest) -> int | None:
    until = read_moment(request.until, view.zone) if request.until else None
    check_pause_end(until, view.now)
    return until


def _after_batch(view: View, progress: Progress, result: BulkResult) -> Progress:
    example = progress.example
    for name, error in result.problems[:1]:
        example = f"{view.name(name)}: {error.message}"[:300]
    return Progress(
        "",
        progress.done + result.done,
        progress.kept + result.unchanged,
        progress.failed + len(result.problems),
        example,
    )


def _progress(fields: Fields) -> Progress:
    done, kept, failed, wait = (whole_number(text_of(fields, name), 0) for name in ("done", "kept", "failed", "wait"))
    after, example = fields.get("after", [""])[0], text_of(fields, "example")
    return Progress(after, done, kept, failed, example, min(wait, MAX_WAIT_SECONDS))


def _ticket(view: View, request: BulkRequest, name: str) -> str:
    secret, session = view.request.cookies.get(SECRET_COOKIE, ""), view.viewer.session if view.viewer else ""
    return ticket_of(secret, session, [view.tenant, *request.words, name])


def _is_confirmed(view: View, request: BulkRequest, name: str, ticket: str) -> bool:
    """Return whether this browser has sent the form of a request. A link of another person cannot know its ticket."""
    has_secret = bool(view.request.cookies.get(SECRET_COOKIE, ""))
    return has_secret and hmac.compare_digest(_ticket(view, request, name).encode(), ticket.encode())


def _fields(view: View) -> Fields:
    values = view.request.query_params
    return {name: values.getlist(name) for name in values}


def _section(kind: str) -> str:
    return "runs" if kind == REDRIVE else "schedules"
