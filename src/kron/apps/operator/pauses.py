"""Pauses of KronJobs: by the annotation `kron.io/pause`, and by the operator while a spec is invalid.

A pause that somebody made in the store stays: the operator ends only pauses that come from the cluster.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from kron.apps.operator.kronjob import KronJob
from kron.engine.registrar import Registrar
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.pause import Actor
from kron.rules.state import ScheduleState
from kron.timing.zone import instant_of

OPERATOR = "operator"  # actor of what no person asked for
ANNOTATION_ACTOR = "annotation:"  # begins the actor of a pause that an annotation asks for
MAX_TEXT = 200  # characters of a note and of a name


class WantedPause(NamedTuple):
    """Pause that an annotation asks for."""

    actor: Actor
    until: int | None  # milliseconds


def wanted_pause(text: str) -> WantedPause | None:
    """Return the pause that the annotation asks for. A text that is no JSON object is the note of the pause."""
    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    fields = value if isinstance(value, dict) else {"note": text}
    try:
        until = instant_of(str(fields["until"])) * 1000 if fields.get("until") else None
    except ValueError:
        until = None
    who, note = str(fields.get("who") or ""), str(fields.get("note") or "")
    return WantedPause(Actor(f"{ANNOTATION_ACTOR}{who[:MAX_TEXT]}", note[:MAX_TEXT]), until)


class Pauses:
    """Writer of pauses."""

    def __init__(self, registrar: Registrar) -> None:
        self.registrar = registrar

    async def stop(self, state: ScheduleState | None, error: str) -> None:
        """Pause a schedule whose spec has become invalid: its periods are skipped, and their reason is the error."""
        if state is None or state.deleted:
            return
        actor, last = Actor(OPERATOR, error), await self._last_pause(state)
        if last is None or (last.actor, last.note) != actor:
            await self.registrar.pause(state.identity, actor)

    async def apply(self, state: ScheduleState, kronjob: KronJob) -> None:
        """Pause or resume a schedule as its KronJob says."""
        now, wanted = await self.registrar.store.now(), wanted_pause(kronjob.pause_text)
        if wanted is not None and wanted.until is not None and wanted.until <= now:
            wanted = None  # it has passed
        last = await self._last_pause(state)
        if wanted is None:
            if last is not None and (last.actor == OPERATOR or last.actor.startswith(ANNOTATION_ACTOR)):
                await self.registrar.resume(state.identity, Actor(kronjob.editor or OPERATOR))
        elif last is None or (last.actor, last.note) != wanted.actor or last.until != wanted.until:
            await self.registrar.pause(state.identity, wanted.actor, until=wanted.until)

    async def _last_pause(self, state: ScheduleState) -> ScheduleAction | None:
        """Return the action that has paused a schedule; None if it is not paused."""
        if not state.paused:
            return None
        actions = await self.registrar.store.actions(state.identity)
        return next((action for action in reversed(actions) if action.kind is ActionKind.PAUSED), None)
