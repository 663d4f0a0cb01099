"""Index of the names in PostgreSQL: trigrams, if the extension `pg_trgm` was there when `kron migrate` ran.

Row-level security keeps the planner from using an index for LIKE, because LIKE is not leakproof. So the policy of the
table `schedule_names` has the pattern: the first condition of row-level security may use any index.
"""

from __future__ import annotations

import re

import psycopg

from kron.errors import StoreUnavailable
from kron.stores.postgres.pool import Pool, Session

_TRIGRAM = re.compile(r"[0-9A-Za-z]{3}", re.ASCII)  # what every locale takes for letters and digits
_SPECIAL = re.compile(r"([\\%_])")


class PostgresNames:
    """Names of one tenant's schedules."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def containing(self, scope: str, text: str, after: str, limit: int) -> list[str] | None:
        """Return a page of identities whose names contain a text, in order."""
        pattern = name_pattern(scope, text)

        async def work(session: Session) -> list[str] | None:
            ((has_index,),) = await session.rows("has_name_index")
            if not has_index:
                return None
            await session.execute("limit_to_pattern", pattern=pattern)
            rows = await session.rows("names_containing", pattern=pattern, scope=scope, after=after, limit=limit)
            return [identity for (identity,) in rows]

        if not _TRIGRAM.search(text):
            return None
        try:
            return await self.pool.read(work)
        except StoreUnavailable as error:
            if isinstance(error.__cause__, psycopg.errors.QueryCanceled):  # too many names have the trigrams
                return None
            raise


def name_pattern(scope: str, text: str) -> str:
    """Return the LIKE pattern of the identities of a scope whose names contain a text."""
    scope_part, text_part = (_SPECIAL.sub(r"\\\1", part) for part in (scope, text))
    return f"{scope_part}%{text_part}%"
