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
UPDATE due SET cursor = %(due)s::bigint - 1, wake = %(due)s::bigint * 1000, seen = 0;
