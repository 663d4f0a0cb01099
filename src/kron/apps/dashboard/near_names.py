"""Near names: schedules whose names look like a text that no schedule has."""

from __future__ import annotations

from difflib import get_close_matches

from kron.apps.compute import compute
from kron.apps.dashboard.view import View

MAX_LENGTH = 40  # characters of a name; the time of a comparison grows with their square or faster
MAX_NAMES = 3
NAMES_COMPARED = 100  # names that are read for one beginning


async def near_names(view: View, text: str) -> list[str]:
    """Return names that look like a text, of those that begin with the same letters in either case.

    Long texts are not compared.
    """
    if len(text) > MAX_LENGTH:
        return []
    lower = text.lower()
    for word, length in ((text, 3), (text, 1), *([(lower, 3)] if lower != text else [])):
        prefix = view.identity(word[: max(0, min(length, len(word) - 1))])
        names = [view.name(name) for name in await view.store.identities("", NAMES_COMPARED, prefix)]
        short_names = [name for name in names if len(name) <= MAX_LENGTH]
        close = await compute(get_close_matches, word, short_names, MAX_NAMES, 0.4)
        if close:
            return close
    return []
