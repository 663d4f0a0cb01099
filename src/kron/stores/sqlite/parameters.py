"""Parameters of statements: lists as JSON, and the end of the texts that begin with a prefix."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kron.engine.fleet import Share
from kron.stores.sqlite.fleet import as_list


def upper_bound(prefix: str) -> str | bytes:
    """Return the first value after all texts that start with `prefix`. SQLite sorts a blob after all texts."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return b""
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)


def share_values(share: Share) -> dict[str, str]:
    """Return the shards and kinds of a share."""
    return {"shards": as_list(share.shards), "kinds": as_list(share.kinds)}


def label_values(labels: Sequence[str]) -> dict[str, str]:
    """Return the first label, which a list is read by, and the others; nothing without labels."""
    return {"label": labels[0], "others": json.dumps(labels[1:])} if labels else {}
