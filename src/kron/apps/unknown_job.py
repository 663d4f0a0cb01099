"""Error of a name that no job of a store has, with the most similar name."""

from __future__ import annotations

from kron.engine.request_check import MAX_PAGE_SIZE
from kron.engine.store import Store
from kron.errors import NotFound, clip, did_you_mean

MAX_NAMES_COMPARED = 10_000  # names that are compared with an unknown one
_SHOWN_NAMES = 3


async def unknown_job_error(store: Store, name: str, advice: str) -> NotFound:
    """Return the error. `advice` is what to do if the store has no jobs."""
    names, last = list[str](), ""
    while len(names) < MAX_NAMES_COMPARED and (page := await store.identities(last, MAX_PAGE_SIZE)):
        names, last = [*names, *page], page[-1]
    others = " and others" if names[_SHOWN_NAMES:] else ""
    examples = f"this store has {', '.join(repr(clip(each)) for each in names[:_SHOWN_NAMES])}{others}"
    hint = did_you_mean(name, names, examples if names else f"this store has no jobs: {advice}")
    return NotFound("NOT_FOUND", f"job {name!r} does not exist", hint=hint)
