"""KronJob as the operator's mirror keeps it: what decides, and the status that was last seen."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kron.kube.kind import Body, Place, place_of, seconds_of
from kron.kube.names import PAUSE, RUN, Owner
from kron.timing.zone import instant_of


class KronJob(NamedTuple):
    """KronJob in the cluster. Times are in seconds."""

    place: Place
    uid: str
    generation: int  # grows with each change of the spec
    created: int
    spec_text: bytes  # JSON: smaller than the object that it describes
    status_text: bytes
    is_deleting: bool
    pause_text: str  # annotation; empty if there is none
    run_text: str
    edited_at: int | None  # when the spec was last changed; None: not known
    editor: str  # program that changed it
    requested_at: int | None  # when the annotations were last changed

    @property
    def spec(self) -> Any:
        """Spec, as the API server sent it."""
        return json.loads(self.spec_text)

    @property
    def status(self) -> Body:
        """Status, as the API server sent it."""
        status = json.loads(self.status_text)
        return status if isinstance(status, dict) else {}

    @property
    def owner(self) -> Owner | None:
        """Owner of the KronJob's Jobs; None if it has no template, which an old API server accepts."""
        spec = self.spec
        template = spec.get("jobTemplate") if isinstance(spec, dict) else None
        if not isinstance(template, dict) or "spec" not in template:
            return None
        return Owner(self.place, self.uid, self.generation, template)

    @property
    def cause(self) -> tuple[object, ...]:
        """All parts that can change the schedule."""
        return self.uid, self.generation, self.is_deleting, self.pause_text, self.run_text, self.spec_text

    @property
    def last_period(self) -> int | None:
        """Last period that the status tells, in seconds. It counts only if the store is lost."""
        try:
            return instant_of(str(self.status["lastPeriodID"]))
        except (KeyError, ValueError):
            return None


def kronjob_of(body: Body) -> KronJob:
    """Return what the mirror keeps of a KronJob."""
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    edited_at, editor = _last_change(metadata, "f:spec")
    return KronJob(
        place_of(body),
        str(metadata.get("uid") or ""),
        int(metadata.get("generation") or 0),
        seconds_of(metadata.get("creationTimestamp")) or 0,
        _text(body.get("spec")),
        _text(body.get("status") or {}),
        bool(metadata.get("deletionTimestamp")),
        str(annotations.get(PAUSE) or ""),
        str(annotations.get(RUN) or ""),
        edited_at,
        editor,
        _last_change(metadata, "f:metadata")[0],
    )


def _last_change(metadata: Body, field: str) -> tuple[int | None, str]:
    """Return when a part of an object was last changed and by which program, as its managed fields tell."""
    changes = [
        (seconds_of(entry.get("time")) or 0, str(entry.get("manager") or ""))
        for entry in metadata.get("managedFields") or ()
        if field in (entry.get("fieldsV1") or {}) and not entry.get("subresource")
    ]
    at, program = max(changes, default=(0, ""))
    return at or None, program


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8", "surrogatepass")
