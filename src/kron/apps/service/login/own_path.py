"""Path of this dashboard: the only kind of address to which a login leads back."""

from __future__ import annotations

import re
from urllib.parse import unquote

from kron.apps.service.config import DASHBOARD_PATH

MAX_LENGTH = 1_000
_CHARACTERS = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]*"
_ADDRESS = re.compile(rf"{DASHBOARD_PATH}/{_CHARACTERS}(\?{_CHARACTERS})?", re.ASCII)


def own_path(text: str) -> str:
    """Return an address below the dashboard, or that of the dashboard itself if the text is any other address.

    No segment of it is `.` or `..`, also not encoded: browsers would resolve it to a path outside the dashboard.
    """
    home = f"{DASHBOARD_PATH}/"
    if len(text) > MAX_LENGTH or not _ADDRESS.fullmatch(text):
        return home
    path = text.partition("?")[0]
    segments = re.split(r"[/\\]", unquote(unquote(path)))
    return home if {".", ".."} & set(segments) or "//" in path else text
