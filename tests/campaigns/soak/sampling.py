"""What is looked at every few seconds: the tables that every tick rewrites, and how late runs end."""

from typing import NamedTuple

STATE = """
SELECT pg_table_size('schedule_state'), pg_indexes_size('schedule_state'),
       (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
        WHERE relname IN ('schedule_state', 'workers', 'shards')),
       (SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_partition_tree('runs') WHERE isleaf),
       (SELECT coalesce(sum(n_live_tup), 0)::bigint FROM pg_stat_user_tables WHERE relname LIKE 'runs_%'),
       (SELECT coalesce(sum(autovacuum_count), 0)::bigint FROM pg_stat_user_tables)
"""
# From the chosen time of a run to its recorded end: claimed, sent, answered, reported; of those that fell due since.
LATENESS = """
SELECT count(*), coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY updated_at - fire_at), 0),
       coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY updated_at - fire_at), 0),
       coalesce(max(updated_at - fire_at), 0)
FROM runs WHERE run_at >= %s AND run_at < %s AND NOT open
"""


class Sample(NamedTuple):
    """Bytes, rows and milliseconds, at so many seconds from the beginning."""

    at: float
    table: int
    indexes: int
    dead: int
    ledger: int
    rows: int
    vacuums: int
    ended: int
    p50: float
    p99: float
    most: float


def sample(server, database, at, since, upto):
    """One look. Runs count that fell due from `since` to `upto` (seconds): long enough ago for all to have ended."""
    (state,) = server.sql(STATE, database)
    (late,) = server.sql(LATENESS, database, int(since), int(upto))
    return Sample(at, *state, late[0], *map(float, late[1:]))
