-- The bare statements that `benchmarks/ticks.py` measures Kron against: no decision, no calendar, no policy, one index
-- on the ledger. What due rows cost a server if nobody asks why.

-- make_queue: a narrow queue in the order of its times, and a ledger
CREATE TABLE queue (schedule_id bigint NOT NULL, next_run_at timestamptz NOT NULL,
                    PRIMARY KEY (next_run_at, schedule_id));
CREATE TABLE queue_runs (idempotency_key bytea PRIMARY KEY, schedule_id bigint NOT NULL,
                         scheduled_for timestamptz NOT NULL, state smallint NOT NULL DEFAULT 0,
                         created_at timestamptz NOT NULL DEFAULT now());

-- make_wide: a row with everything, found by an index on its time, and a ledger
CREATE TABLE wide (id bigint PRIMARY KEY, name text NOT NULL, expr text NOT NULL, tz text NOT NULL,
                   payload jsonb NOT NULL, enabled boolean NOT NULL, next_run_at timestamptz NOT NULL,
                   updated_at timestamptz NOT NULL);
CREATE INDEX wide_next ON wide (next_run_at);
CREATE TABLE wide_runs (LIKE queue_runs INCLUDING ALL);

-- fill_queue: so many, all due then
INSERT INTO queue SELECT i, to_timestamp(%(due)s) FROM generate_series(1, %(count)s) AS i;

-- fill_wide: so many, all due then
INSERT INTO wide
SELECT i, 'schedule-' || i, '*/5 * * * *', 'America/New_York', '{"task": "app.tasks.work", "args": [1, 2]}', true,
       to_timestamp(%(due)s), now()
FROM generate_series(1, %(count)s) AS i;

-- tick_queue: take a batch out of the queue, record it, put it back for the next time
WITH pick AS MATERIALIZED (
    SELECT ctid FROM queue WHERE next_run_at <= to_timestamp(%(due)s)
    ORDER BY next_run_at LIMIT 5000 FOR UPDATE SKIP LOCKED),
due AS (
    DELETE FROM queue WHERE ctid = ANY (ARRAY(SELECT ctid FROM pick)) RETURNING schedule_id, next_run_at),
run AS (
    INSERT INTO queue_runs (idempotency_key, schedule_id, scheduled_for)
    SELECT sha256((schedule_id || ':' || extract(epoch FROM next_run_at)::bigint)::bytea), schedule_id, next_run_at
    FROM due ON CONFLICT DO NOTHING RETURNING 1),
again AS (
    INSERT INTO queue SELECT schedule_id, next_run_at + interval '1 hour' FROM due)
SELECT count(*) FROM run;

-- tick_wide: claim a batch, record it, advance it
WITH due AS (
    SELECT id, next_run_at FROM wide WHERE next_run_at <= to_timestamp(%(due)s) AND enabled
    ORDER BY next_run_at LIMIT 5000 FOR UPDATE SKIP LOCKED),
run AS (
    INSERT INTO wide_runs (idempotency_key, schedule_id, scheduled_for)
    SELECT sha256((id || ':' || extract(epoch FROM next_run_at)::bigint)::bytea), id, next_run_at
    FROM due ON CONFLICT DO NOTHING RETURNING 1),
again AS (
    UPDATE wide w SET next_run_at = due.next_run_at + interval '1 hour', updated_at = now()
    FROM due WHERE w.id = due.id)
SELECT count(*) FROM run;

-- end_runs: what was recorded has ended, as it would have by the next hour
UPDATE runs SET status = 'success', outcome = 'executed' WHERE open;

-- set_back: every schedule is due then, and what lies before is handled
UPDATE schedule_state SET cursor = %(due)s::bigint - 1, wake = %(due)s::bigint * 1000, open_runs_digest = 0;

-- make_kinds: the definitions that there are, each once
CREATE TABLE kinds (n integer PRIMARY KEY, digest bigint, schedule text, dialect text, timezone text, policy text,
                    name text, description text, command text, target text, start_at bigint, end_at bigint);

-- fill_definitions: so many schedules, of all kinds in turn
INSERT INTO definitions
SELECT 'default', 'bench/schedule-' || lpad(i::text, 8, '0'), k.digest, k.schedule, k.dialect, k.timezone, k.policy,
       k.name, k.description, k.command, k.target, k.start_at, k.end_at, 0
FROM generate_series(0, %(count)s - 1) AS i JOIN kinds k ON k.n = i %% %(kinds)s;

-- fill_due: and none of them due for a long time
INSERT INTO schedule_state (tenant_id, schedule_id, wake, cursor, since, reach, open_runs_digest, digest, revision, shard,
                            paused, deleted)
SELECT 'default', 'bench/schedule-' || lpad(i::text, 8, '0'), (%(far)s::bigint + i %% 86400) * 1000, %(start)s - 1,
       %(start)s::bigint * 1000 - 1, %(start)s - 1, 0, k.digest, 1, i %% 64, false, false
FROM generate_series(0, %(count)s - 1) AS i JOIN kinds k ON k.n = i %% %(kinds)s;

-- set_some: so many of them, far from one another and each time others, are due then; all others are not
UPDATE schedule_state SET cursor = %(due)s::bigint - 1, reach = %(due)s::bigint - 1, wake = %(due)s::bigint * 1000, open_runs_digest = 0
WHERE tenant_id = 'default' AND schedule_id = ANY (ARRAY(
    SELECT 'bench/schedule-' || lpad((j * %(step)s + %(turn)s %% %(step)s)::text, 8, '0')
    FROM generate_series(0, %(some)s - 1) AS j));

-- rest: what has been due is not due again for a long time
UPDATE schedule_state SET wake = %(far)s::bigint * 1000, open_runs_digest = 0 WHERE tenant_id = 'default' AND wake < %(far)s::bigint * 1000;

-- log: how much has been written ahead
SELECT pg_current_wal_lsn() - '0/0'::pg_lsn;

-- bytes: of all schedules, and of a run
SELECT pg_total_relation_size('definitions') + pg_total_relation_size('due'),
       (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'runs'::regclass)
       / (SELECT count(*) FROM runs);
