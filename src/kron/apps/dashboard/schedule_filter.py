"""Filter of schedules: which ones a list shows, and which ones an action on everything that matches is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kron.apps.compute import SEARCH_SECONDS, compute, time_limit
from kron.apps.dashboard.next_run import late_due
from kron.apps.dashboard.view import View
from kron.engine.name_search import search_names
from kron.engine.overview import MAX_NEXT, TROUBLE
from kron.errors import InvalidInput, clip
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.timing.labels import selector_of

INSIDE = "inside"  # names contain the text, not only at their beginning


class Filter(NamedTuple):
    """What a list shows. `late` and an outcome stand alone; a name, a label and `paused` can be combined.

    Attributes:
        text: Beginning of the names; with `match`, a part of them.
        label: A label, as `key=value`.
        state: `late` or `paused`; empty: any.
        outcome: How the last period ended; empty: in any way.
        match: `inside` if names have to contain the text anywhere, without a label or a state.
    """

    text: str = ""
    label: str = ""
    state: str = ""
    outcome: str = ""
    match: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the list shows all schedules."""
        return not (self.text or self.label or self.state or self.outcome)

    @property
    def query(self) -> dict[str, str]:
        """Parameters of an address that has this filter."""
        named = {"q": self.text, "label": self.label, "state": self.state, "outcome": self.outcome}
        return {**named, "match": self.match}


def filter_of(values: Mapping[str, str]) -> Filter:
    """Return the filter of a request. `label:team=web` in the search is a label.

    Raises:
        InvalidInput: A value is unknown.
    """
    text, label = values.get("q", "").strip(), values.get("label", "")
    if text.startswith("label:"):
        text, label = "", text.removeprefix("label:").strip()
    state, outcome, match = (values.get(name, "") for name in ("state", "outcome", "match"))
    if match not in ("", INSIDE):
        raise InvalidInput("BAD_FIELD", f"unknown match {clip(match)!r}", hint=f"use {INSIDE}, or leave it out")
    if state not in ("", "late", "paused"):
        raise InvalidInput("BAD_FIELD", f"unknown state {clip(state)!r}", hint="use late or paused")
    if outcome and outcome not in {each.value for each in TROUBLE}:
        hint = f"use one of {', '.join(sorted(TROUBLE))}"
        raise InvalidInput("BAD_FIELD", f"unknown outcome {clip(outcome)!r}", hint=hint)
    if outcome or state == "late":
        text, label, state = "", "", state if not outcome else ""
    is_inside = bool(match and text) and not (label or state)
    return Filter(text, selector_of(label) if label else "", state, outcome, INSIDE if is_inside else "")


class Matches(NamedTuple):
    """Page of the identities that match.

    Attributes:
        names: The identities.
        is_cut: Whether not all schedules could be looked at.
        searched_upto: Last identity that was looked at in search of a part of a name; empty: all of them.
    """

    names: list[str]
    is_cut: bool = False
    searched_upto: str = ""


async def matching(view: View, query: Filter, after: str, limit: int) -> Matches:
    """Return a page of the identities that match, in order; `after` is the last one of the page before."""
    if query.outcome:
        return Matches(await view.overview.troubled_schedules(view.prefix, State(query.outcome), after, limit))
    if query.state == "late":
        late, is_cut = await late_names(view)
        return Matches(sorted(name for name in late if name > after)[:limit], is_cut)
    if query.match:
        found = await search_names(view.store, view.prefix, query.text, after, limit)
        return Matches(found.identities, bool(found.searched_upto), found.searched_upto)
    paused = True if query.state == "paused" else None
    labels = [query.label] if query.label else []
    return Matches(await view.store.identities(after, limit, view.identity(query.text), paused, False, labels))


async def late_names(view: View) -> tuple[list[str], bool]:
    """Return the late ones of the schedules that wait for a check, and whether more wait than were read."""
    waiting = await view.overview.next_checks(view.prefix, MAX_NEXT, view.now)
    states = await view.store.get(waiting) if waiting else []
    return await compute(_late_of, [state for state in states if state], view.now, len(waiting) == MAX_NEXT)


def _late_of(states: Sequence[ScheduleState], now: int, is_cut: bool) -> tuple[list[str], bool]:
    out_of_time = time_limit(SEARCH_SECONDS)
    late = [state.identity for state in states if not out_of_time() and late_due(state, now)]
    return late, is_cut or out_of_time()
