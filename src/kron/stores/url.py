"""Database URLs: what must be percent-encoded. A message never repeats a part of a URL: it may be the password."""

from __future__ import annotations

import re

ENCODING_HINT = "in a name or a password, write % as %25, @ as %40, / as %2F, : as %3A and a space as %20"
_BAD_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def url_problem(url: str) -> str:
    """Return what is wrong with the user, password or host of a database URL; empty if nothing is."""
    location = url.partition("?")[0].partition("://")[2]
    authority, _, path = location.partition("/")
    if _BAD_PERCENT.search(location):
        return "it has a % that is not percent-encoded"
    if any(character.isspace() for character in location):
        return "it has a space that is not percent-encoded"
    if authority.count("@") > 1:
        return "it has an @ that is not percent-encoded"
    if "@" in path:
        return "it has an @ after a /, one of which is not percent-encoded"
    return ""
