"""Annotations of KronJobs by which people ask the operator for something."""

from __future__ import annotations

import json

from kron.kube.kind import GROUP

PAUSE, RUN = f"{GROUP}/pause", f"{GROUP}/run"


def pause_text(note: str, who: str, until: str) -> str:
    """Return the value that pauses a KronJob. Empty fields are left out."""
    fields = {"note": note, "who": who, "until": until}
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)
