"""Bulk request: the schedules or dead letters that an operator selected, one by one or as everything that matches."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.apps.dashboard.form import Fields, text_of
from kron.apps.dashboard.schedule_filter import Filter, filter_of, matching
from kron.apps.dashboard.view import View
from kron.engine.bulk import BATCH_SIZE
from kron.errors import InvalidInput, NotFound

RUN, REDRIVE = "run", "redrive"
KINDS = ("pause", "resume", RUN, REDRIVE)
_KEY = re.compile(r"[0-9a-f]{64}")


class BulkRequest(NamedTuple):
    """What is to be done with which ones.

    Attributes:
        kind: One of KINDS.
        names: Names of schedules, or keys of dead letters, that were selected one by one.
        is_all: Whether everything that matches the filter is meant instead.
        query: The filter.
        until: End of a pause, as the form has it; empty: none.
        note: Why.
    """

    kind: str
    names: tuple[str, ...]
    is_all: bool
    query: Filter
    until: str
    note: str

    @property
    def words(self) -> list[str]:
        """What the operator confirmed, except for the names."""
        return [self.kind, str(self.is_all), *self.query, self.until, self.note]

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of an address for everything that matches."""
        return {"select": "all" if self.is_all else "", **self.query.query, "until": self.until, "note": self.note}


def bulk_request(kind: str, fields: Fields) -> BulkRequest:
    """Return the request of a form or an address.

    Raises:
        InvalidInput: A value is unknown, or more were selected than a page shows.
    """
    names = tuple(dict.fromkeys(fields.get("name", [])))
    if len(names) > BATCH_SIZE:
        message = f"{len(names):,} are selected"
        raise InvalidInput("BAD_FIELD", message, hint=f"select at most {BATCH_SIZE}, or everything that matches")
    query = filter_of({name: text_of(fields, name) for name in fields})
    is_all = text_of(fields, "select") == "all"
    if is_all and query.match:  # not every store can look at all names
        hint = "select rows, or use the beginning of the names"
        raise InvalidInput("BAD_FIELD", "everything whose name contains a text cannot be selected", hint=hint)
    return BulkRequest(kind, () if is_all else names, is_all, query, text_of(fields, "until"), text_of(fields, "note"))


async def meant_by(view: View, request: BulkRequest, after: str, limit: int) -> list[str]:
    """Return the identities of the schedules, or the keys of the dead letters, that a request is about.

    Args:
        view: The view.
        request: The request.
        after: Last one of the batch before.
        limit: Maximum number.

    Raises:
        NotFound: A selected run does not exist.
    """
    if request.kind != REDRIVE:
        if not request.is_all:
            return [view.identity(name) for name in request.names][:limit]
        return (await matching(view, request.query, after, limit)).names
    if request.is_all:
        runs = await view.store.dead_letters(view.identity(request.query.text), limit, after)
        return [run.key for run in runs]
    keys = [name for name in request.names if _KEY.fullmatch(name)][:limit]
    found = [run for run in await view.store.runs_by_key(keys) if run and run.identity.startswith(view.prefix)]
    if len(found) != len(request.names):
        raise NotFound("NOT_FOUND", "there is no such run", hint="select runs that the list shows")
    return keys
