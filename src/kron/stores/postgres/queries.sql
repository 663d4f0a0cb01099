-- All statements of the PostgreSQL store, by name.
--
-- The settings of `begin` are local to the transaction, so that any connection of a pooler works. A writer of a
-- schedule's runs locks the schedule's row in `schedule_state` first, in the order of the identities. So writers cannot
-- deadlock, and what was read under the lock is still true when it is written.
--
-- Rows of a batch must be looked up one by one from the batch, even if the planner has wrong statistics for a table
-- that has just grown or for a week of the ledger that has just begun. Three rules enforce this:
--   * The tenant is compared with IS TRUE. With an equality the planner could scan all rows of the tenant, and the
--     whole batch for each of them.
--   * A read that is joined to the batch runs once per row (LATERAL, with an OFFSET that keeps the planner from
--     flattening it).
--   * An update compares with ANY of one name. With an equality the planner could reverse the join and scan the batch
--     for each row of the table; with a range it could scan all of another index. ANY also locks in batch order.

-- begin: start a transaction for a tenant; each statement sees what is committed before it
BEGIN;
SET LOCAL app.tenant = {tenant};
SET LOCAL search_path = {schema}, pg_temp;

-- begin_reading: start a read-only transaction, which sees one snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL app.tenant = {tenant};
SET LOCAL search_path = {schema}, pg_temp;

-- set_limits: sent with `begin`: time limits, and planner settings that allow only index lookups in key order
SET LOCAL statement_timeout = '4s';
SET LOCAL lock_timeout = '2s';
SET LOCAL idle_in_transaction_session_timeout = '5s';
SET LOCAL jit = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
SET LOCAL enable_sort = off;
SET LOCAL max_parallel_workers_per_gather = 0;

-- limit_to_scope: sent with `begin`: only schedules whose identities start with this text are visible
SET LOCAL app.tenant_prefix = {within};

-- commit: commit; durable when it returns
COMMIT;

-- version: the newest migration
SELECT max(number) FROM kron_migrations;

-- now: the database clock
SELECT kron_now();

-- clock: the database clock, outside of a transaction
SELECT {schema}.kron_now();

-- lock_leases: lock, so that one worker at a time changes leases; and the time when it got the lock
SELECT pg_advisory_xact_lock(hashtextextended('kron leases ' || current_schema() || ' ' || %(tenant)s, 0)), kron_now();

-- workers: all registered workers, in order
SELECT owner, joined, said, until, kinds, tz FROM workers WHERE tenant_id = %(tenant)s ORDER BY owner;

-- write_worker: write the lease of a worker
INSERT INTO workers (tenant_id, owner, joined, said, until, kinds, tz)
VALUES (%(tenant)s, %(owner)s, %(joined)s, %(said)s, %(until)s, %(kinds)s, %(tz)s)
ON CONFLICT (tenant_id, owner) DO UPDATE SET
    joined = excluded.joined, said = excluded.said, until = excluded.until, kinds = excluded.kinds, tz = excluded.tz;

-- remove_workers: remove workers whose lease has ended
DELETE FROM workers WHERE tenant_id = %(tenant)s AND owner = ANY(%(owners)s);

-- kinds: target kinds, each with its last lease and its last downtime
SELECT kind, said, until, down_from, up_since FROM kinds WHERE tenant_id = %(tenant)s;

-- write_kinds: write leases and downtimes of target kinds
INSERT INTO kinds (tenant_id, kind, said, until, down_from, up_since)
SELECT %(tenant)s, k.* FROM unnest(%(kinds)s, %(saids)s, %(untils)s, %(froms)s, %(sinces)s) AS k
ON CONFLICT (tenant_id, kind) DO UPDATE SET
    said = excluded.said, until = excluded.until, down_from = excluded.down_from, up_since = excluded.up_since;

-- due_schedules: schedules of a share that are due for a check, the longest waiting first
SELECT d.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest, reach, owed,
           run_count, failure_count
    FROM schedule_state
    WHERE tenant_id = %(tenant)s AND kind = k.kind AND wake <= %(upto)s
      AND (wake, schedule_id) > (%(after)s, %(name)s) AND shard = ANY(%(shards)s)
    ORDER BY wake, schedule_id
    LIMIT %(limit)s) AS d
ORDER BY wake, schedule_id
LIMIT %(limit)s;

-- due_schedules_of_all_shards: as `due_schedules`, for a worker that holds all shards
SELECT d.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest, reach, owed,
           run_count, failure_count
    FROM schedule_state
    WHERE tenant_id = %(tenant)s AND kind = k.kind AND wake <= %(upto)s
      AND (wake, schedule_id) > (%(after)s, %(name)s)
    ORDER BY wake, schedule_id
    LIMIT %(limit)s) AS d
ORDER BY wake, schedule_id
LIMIT %(limit)s;

-- poll: the time, and when the next schedule of a share is due; one round trip, because idle workers repeat it
SELECT now, wake FROM {schema}.kron_poll(%(tenant)s, %(within)s, %(kinds)s, %(shards)s);

-- set_aside: do not check a schedule before that time
UPDATE schedule_state SET wake = %(until)s, aside = %(reason)s
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s;

-- schedules_with_time: the time, and schedules by identity; without any of them, one row with the time
SELECT kron_now(), d.*
FROM (VALUES (0)) AS once LEFT JOIN LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest, reach, owed,
           run_count, failure_count
    FROM schedule_state
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s)
    OFFSET 0) AS d ON true;

-- revisions_of: older definitions of schedules, by revision number
SELECT r.*
FROM unnest(%(schedules)s, %(revisions)s) AS s (schedule_id, number), LATERAL (
    SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
           source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
    FROM schedule_revisions
    WHERE tenant_id = %(tenant)s AND schedule_id = s.schedule_id AND number = s.number
    OFFSET 0) AS r;

-- lock: lock and read schedules by identity, before a write
SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest, reach, owed,
       run_count, failure_count
FROM schedule_state
WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s)
ORDER BY schedule_id
FOR NO KEY UPDATE;

-- definitions: definitions by identity
SELECT d.*
FROM unnest(%(schedules)s) AS s (schedule_id), LATERAL (
    SELECT schedule_id, digest, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
           source, source_dialect, source_timezone, payload, labels, webhook
    FROM definitions
    WHERE tenant_id = %(tenant)s AND schedule_id = s.schedule_id
    OFFSET 0) AS d;

-- open_runs: runs that have not ended
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s) AND open
ORDER BY schedule_id, run_at, trigger_id, idempotency_key;

-- ahead: periods beyond each cursor that are handled already
SELECT r.*
FROM unnest(%(schedules)s, %(cursors)s) AS c (schedule_id, cursor), LATERAL (
    SELECT schedule_id, run_at FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = c.schedule_id AND run_at > c.cursor AND trigger_id = ''
    OFFSET 0) AS r;

-- runs_by_period: runs by period
SELECT r.*
FROM unnest(%(schedules)s, %(nominals)s, %(triggers)s) AS p (schedule_id, run_at, trigger_id), LATERAL (
    SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
           attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
    FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = p.schedule_id AND run_at = p.run_at
      AND trigger_id = p.trigger_id
    OFFSET 0) AS r;

-- runs_by_key: runs by key
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE (tenant_id = %(tenant)s) IS TRUE AND idempotency_key = ANY(%(keys)s);

-- existing_requests: which of those keys belong to a manual request
SELECT encode(idempotency_key, 'hex') FROM requests WHERE tenant_id = %(tenant)s AND idempotency_key = ANY(%(keys)s);

-- advance: compare-and-set of schedules that are unchanged since they were read; returns the changed ones
UPDATE schedule_state d SET
    cursor = s.cursor, wake = s.wake, open_runs_digest = s.open_runs_digest, reach = greatest(d.reach, s.reach), next_at = s.next_at, aside = NULL
FROM unnest(%(schedules)s, %(revisions)s, %(cursors)s, %(seens)s, %(next_cursors)s, %(sinces)s, %(wakes)s,
            %(next_seens)s, %(reaches)s, %(nexts)s)
     AS s (schedule_id, revision, old_cursor, old_digest, cursor, since, wake, open_runs_digest, reach, next_at)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id]) AND d.revision = s.revision
  AND d.cursor = s.old_cursor AND d.since = s.since AND d.open_runs_digest = s.old_digest AND d.paused = %(paused)s AND d.deleted = %(deleted)s
RETURNING d.schedule_id;

-- define: insert new schedules; returns the inserted ones
INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description,
                         command, target, start_at, end_at, source, source_dialect, source_timezone, payload, labels,
                         webhook, updated_at)
SELECT %(tenant)s, s.*, %(now)s
FROM unnest(%(schedules)s, %(digests)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s,
            %(descriptions)s, %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(sources)s,
            %(source_dialects)s, %(source_timezones)s, %(payloads)s, %(labels)s, %(webhooks)s) AS s
ON CONFLICT DO NOTHING
RETURNING schedule_id;

-- edit: write new revisions of schedules, under the lock: definition, progress, and the permanent revision record
WITH defined AS (
    INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description,
                             command, target, start_at, end_at, source, source_dialect, source_timezone, payload, labels,
                             webhook, updated_at)
    SELECT %(tenant)s, s.*, %(now)s
    FROM unnest(%(schedules)s, %(digests)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s,
                %(descriptions)s, %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(sources)s,
                %(source_dialects)s, %(source_timezones)s, %(payloads)s, %(labels)s, %(webhooks)s) AS s
    ON CONFLICT (tenant_id, schedule_id) DO UPDATE SET
        digest = excluded.digest, schedule = excluded.schedule, dialect = excluded.dialect,
        timezone = excluded.timezone, policy = excluded.policy, name = excluded.name,
        description = excluded.description, command = excluded.command, target = excluded.target,
        start_at = excluded.start_at, end_at = excluded.end_at, source = excluded.source,
        source_dialect = excluded.source_dialect, source_timezone = excluded.source_timezone,
        payload = excluded.payload, labels = excluded.labels, webhook = excluded.webhook,
        updated_at = excluded.updated_at
), revised AS (
    INSERT INTO schedule_revisions (tenant_id, schedule_id, schedule, dialect, timezone, policy, name, description,
                                    command, target, start_at, end_at, source, source_dialect, source_timezone,
                                    payload, labels, webhook, number, at, actor, note, cursor)
    SELECT %(tenant)s, r.*
    FROM unnest(%(schedules)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s, %(descriptions)s,
                %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(sources)s, %(source_dialects)s, %(source_timezones)s,
                %(payloads)s, %(labels)s, %(webhooks)s, %(numbers)s::integer[], %(ats)s, %(actors)s, %(notes)s, %(froms)s) AS r
)
UPDATE schedule_state d SET
    digest = s.digest, revision = s.revision, cursor = s.cursor, since = s.since, paused = s.paused,
    deleted = s.deleted, wake = s.wake, paused_until = s.paused_until, open_runs_digest = s.open_runs_digest,
    reach = greatest(d.reach, s.reach), kind = s.kind, next_at = s.next_at, owed = s.owed, aside = NULL,
    run_count = s.run_count, failure_count = s.failure_count
FROM unnest(%(schedules)s, %(digests)s, %(revisions)s::integer[], %(cursors)s, %(sinces)s, %(paused)s, %(deleted)s,
            %(wakes)s, %(untils)s, %(seens)s, %(reaches)s, %(kinds)s, %(nexts)s, %(oweds)s,
            %(run_counts)s::integer[], %(failure_counts)s::integer[])
     AS s (schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest, reach, kind,
           next_at, owed, run_count, failure_count)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id]);

-- write_progress: write the progress of schedules, under the lock
INSERT INTO schedule_state (tenant_id, schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest,
                 reach, kind, shard, next_at, owed, run_count, failure_count)
SELECT %(tenant)s, s.*
FROM unnest(%(schedules)s, %(digests)s, %(revisions)s::integer[], %(cursors)s, %(sinces)s, %(paused)s, %(deleted)s,
            %(wakes)s, %(untils)s, %(seens)s, %(reaches)s, %(kinds)s, %(shards)s::smallint[], %(nexts)s, %(oweds)s,
            %(run_counts)s::integer[], %(failure_counts)s::integer[]) AS s
ON CONFLICT (schedule_id, tenant_id) DO UPDATE SET
    digest = excluded.digest, revision = excluded.revision, cursor = excluded.cursor, since = excluded.since,
    paused = excluded.paused, deleted = excluded.deleted, wake = excluded.wake, paused_until = excluded.paused_until,
    open_runs_digest = excluded.open_runs_digest, reach = greatest(schedule_state.reach, excluded.reach), kind = excluded.kind,
    next_at = excluded.next_at, owed = excluded.owed, aside = NULL,
    run_count = excluded.run_count, failure_count = excluded.failure_count;

-- insert_runs: insert new runs that share most values
INSERT INTO runs (tenant_id, schedule_id, run_at, fire_at, revision, idempotency_key, not_before, status, trigger_id,
                  outcome, reason, attempt, owner, lease_until, maybe_delivered, created_at, updated_at, sent_at, unsent,
                  launched, failures, ends_by, exclusive)
SELECT %(tenant)s, r.*, %(status)s, %(trigger)s, %(outcome)s, %(reason)s, %(attempt)s, %(owner)s, %(lease)s,
       %(maybe_delivered)s, %(created)s, %(changed)s, %(sent)s, %(unsent)s, %(launched)s, %(failures)s, %(ends_by)s,
       %(exclusive)s
FROM unnest(%(schedules)s, %(nominals)s, %(dues)s, %(revisions)s::integer[], %(keys)s, %(not_befores)s) AS r;

-- insert_requests: insert the keys of manual requests
INSERT INTO requests (tenant_id, idempotency_key, schedule_id, run_at)
SELECT %(tenant)s, r.* FROM unnest(%(keys)s, %(schedules)s, %(nominals)s) AS r;

-- update_runs: update runs, under the lock; whether a run must be exclusive is decided when it starts
UPDATE runs r SET
    status = m.status, outcome = m.outcome, reason = m.reason, attempt = m.attempt::integer, owner = m.owner,
    lease_until = m.lease, not_before = m.not_before, maybe_delivered = m.maybe_delivered, updated_at = m.changed,
    sent_at = m.sent, unsent = m.unsent::integer, launched = m.launched::integer, failures = m.failures::integer,
    ends_by = m.ends_by,
    exclusive = CASE WHEN r.status IN ('launching', 'retry', 'enqueued', 'started') THEN r.exclusive ELSE m.exclusive END
FROM unnest(%(schedules)s, %(nominals)s, %(triggers)s, %(statuses)s, %(outcomes)s, %(reasons)s, %(attempts)s,
            %(owners)s, %(leases)s, %(not_befores)s, %(maybe_delivered_flags)s, %(changes)s, %(sents)s, %(unsents)s,
            %(launcheds)s, %(failures)s, %(ends_bys)s, %(exclusives)s)
     AS m (schedule_id, run_at, trigger_id, status, outcome, reason, attempt, owner, lease, not_before, maybe_delivered, changed,
           sent, unsent, launched, failures, ends_by, exclusive)
WHERE (r.tenant_id = %(tenant)s) IS TRUE AND r.schedule_id = ANY (ARRAY[m.schedule_id])
  AND r.run_at = m.run_at AND r.trigger_id = m.trigger_id;

-- apply_run_updates: apply run changes to the open-runs digests of schedules, and check the schedules no later than that time
UPDATE schedule_state d SET
    open_runs_digest = d.open_runs_digest # s.delta, wake = least(d.wake, s.wake), last_state = coalesce(s.last, d.last_state)
FROM unnest(%(schedules)s, %(deltas)s, %(wakes)s, %(lasts)s) AS s (schedule_id, delta, wake, last)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id])
  AND (s.delta <> 0 OR s.wake < d.wake OR s.wake IS NOT NULL AND d.wake IS NULL);

-- apply_counted_run_updates: as `apply_run_updates`, for schedules that count the ends of runs for `pause_on_failure`
UPDATE schedule_state d SET
    open_runs_digest = d.open_runs_digest # s.delta, wake = least(d.wake, s.wake), last_state = coalesce(s.last, d.last_state),
    failure_count = CASE WHEN d.revision <> s.revision THEN d.failure_count
                         WHEN s.resets THEN s.failures ELSE d.failure_count + s.failures END
FROM unnest(%(schedules)s, %(deltas)s, %(wakes)s, %(lasts)s, %(revisions)s::integer[], %(resets)s, %(failures)s::integer[])
     AS s (schedule_id, delta, wake, last, revision, resets, failures)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id]);

-- write_last_states: how the last periods of schedules ended, under the lock
UPDATE schedule_state d SET last_state = s.last
FROM unnest(%(schedules)s, %(lasts)s) AS s (schedule_id, last)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id])
  AND d.last_state IS DISTINCT FROM s.last;

-- count_outcomes: add to the counters of outcomes; the last statement of its transaction, in the order of the keys
INSERT INTO outcome_minutes AS o (tenant_id, scope, minute, status, reason, slot, count)
SELECT %(tenant)s, c.scope, c.minute::integer, c.status, c.reason, pg_backend_pid() %% 8, c.count
FROM unnest(%(scopes)s, %(minutes)s, %(statuses)s, %(reasons)s, %(counts)s) AS c (scope, minute, status, reason, count)
ON CONFLICT (tenant_id, scope, minute, status, reason, slot) DO UPDATE SET count = o.count + excluded.count;

-- insert_gaps: insert gap records
INSERT INTO schedule_gaps (tenant_id, schedule_id, first, last, count, outcome, reason)
SELECT %(tenant)s, g.* FROM unnest(%(schedules)s, %(firsts)s, %(lasts)s, %(counts)s, %(outcomes)s, %(reasons)s) AS g;

-- insert_revisions: insert revisions: complete definitions, kept permanently
INSERT INTO schedule_revisions (tenant_id, schedule_id, schedule, dialect, timezone, policy, name, description,
                                command, target, start_at, end_at, source, source_dialect, source_timezone,
                                payload, labels, webhook, number, at, actor, note, cursor)
SELECT %(tenant)s, r.*
FROM unnest(%(schedules)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s, %(descriptions)s,
            %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(sources)s, %(source_dialects)s, %(source_timezones)s,
            %(payloads)s, %(labels)s, %(webhooks)s, %(numbers)s::integer[], %(ats)s, %(actors)s, %(notes)s, %(froms)s) AS r;

-- insert_actions: insert recorded actions
INSERT INTO schedule_actions (tenant_id, schedule_id, action, at, until, actor, note)
SELECT %(tenant)s, a.*
FROM unnest(%(schedules)s, %(actions)s, %(ats)s, %(untils)s, %(actors)s, %(notes)s) AS a;

-- identities: a page of identities
SELECT schedule_id FROM schedule_state
WHERE tenant_id = %(tenant)s AND schedule_id > %(after)s AND schedule_id >= %(prefix)s
  AND starts_with(schedule_id, %(prefix)s) AND deleted = %(deleted)s
  AND (%(paused)s::boolean IS NULL OR paused = %(paused)s)
ORDER BY schedule_id
LIMIT %(limit)s;

-- labelled_identities: a page of identities of schedules that have a label, and all of the other labels
SELECT l.schedule_id
FROM schedule_labels l JOIN schedule_state d ON d.schedule_id = l.schedule_id AND d.tenant_id = l.tenant_id
WHERE l.tenant_id = %(tenant)s AND l.label = %(label)s AND l.schedule_id > %(after)s AND l.schedule_id >= %(prefix)s
  AND starts_with(l.schedule_id, %(prefix)s) AND d.deleted = %(deleted)s
  AND (%(paused)s::boolean IS NULL OR d.paused = %(paused)s)
  AND NOT EXISTS (
    SELECT FROM unnest(%(others)s) AS o (label)
    WHERE NOT EXISTS (SELECT FROM schedule_labels m
                      WHERE m.tenant_id = l.tenant_id AND m.label = o.label AND m.schedule_id = l.schedule_id))
ORDER BY l.schedule_id
LIMIT %(limit)s;

-- runs: the newest runs of a schedule
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT %(limit)s;

-- runs_before: the newest runs of a schedule that are older than a run
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND (run_at, trigger_id, idempotency_key) < (
    SELECT run_at, trigger_id, idempotency_key FROM runs
    WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND idempotency_key = %(before)s)
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT %(limit)s;

-- runs_between: the newest runs of a schedule with nominal times in a range
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND run_at BETWEEN %(first)s AND %(last)s
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT %(limit)s;

-- load_hours: runs that are due in the hours of a range
SELECT hour, counts, kinds, written_at FROM load_hours
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND hour >= %(first)s AND hour < %(last)s
ORDER BY hour;

-- write_load: write the runs that are due in some hours, in the order of their keys
INSERT INTO load_hours (tenant_id, scope, hour, counts, kinds, written_at)
SELECT %(tenant)s, h.scope, h.hour::integer, h.counts, h.kinds, h.written_at
FROM unnest(%(scopes)s, %(hours)s, %(counts)s, %(kinds)s, %(writtens)s) AS h (scope, hour, counts, kinds, written_at)
ON CONFLICT (tenant_id, scope, hour) DO UPDATE SET
    counts = excluded.counts, kinds = excluded.kinds, written_at = excluded.written_at;

-- remove_load: remove hours that were written before a time
DELETE FROM load_hours WHERE tenant_id = %(tenant)s AND ctid = ANY (ARRAY(
    SELECT ctid FROM load_hours WHERE tenant_id = %(tenant)s AND written_at < %(before)s LIMIT %(limit)s))
RETURNING hour;

-- troubled_runs: runs with some kinds of trouble, latest end first
SELECT r.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT encode(idempotency_key, 'hex') AS key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
           reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
           launched, failures, ends_by
    FROM runs
    WHERE tenant_id = %(tenant)s AND kron_trouble(status, outcome) = k.kind
      AND status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')
      AND (updated_at, idempotency_key) < (%(before)s, %(key)s) AND starts_with(schedule_id, %(prefix)s)
    ORDER BY updated_at DESC, idempotency_key DESC
    LIMIT %(limit)s) AS r
ORDER BY updated_at DESC, key DESC
LIMIT %(limit)s;

-- troubled_runs_of_scope: as `troubled_runs`, for one scope
SELECT r.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT encode(idempotency_key, 'hex') AS key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
           reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
           launched, failures, ends_by
    FROM runs
    WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND kron_trouble(status, outcome) = k.kind
      AND status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')
      AND (updated_at, idempotency_key) < (%(before)s, %(key)s) AND starts_with(schedule_id, %(prefix)s)
    ORDER BY updated_at DESC, idempotency_key DESC
    LIMIT %(limit)s) AS r
ORDER BY updated_at DESC, key DESC
LIMIT %(limit)s;

-- running: runs that are accepted and have not ended, the oldest attempt first
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
       reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE tenant_id = %(tenant)s AND status IN ('enqueued', 'started')
ORDER BY sent_at, idempotency_key
LIMIT %(limit)s;

-- running_of_scope: as `running`, for one scope
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
       reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by
FROM runs
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND status IN ('enqueued', 'started')
ORDER BY sent_at, idempotency_key
LIMIT %(limit)s;

-- outcome_counts: how many periods ended in which way, by the time at which they were due
SELECT (o.minute * 60::bigint - %(first)s) / %(step)s * %(step)s + %(first)s AS start, o.status, o.reason, sum(o.count)::bigint
FROM outcome_minutes o
WHERE o.tenant_id = %(tenant)s AND o.scope = %(scope)s AND o.minute >= %(first)s / 60 AND o.minute < %(last)s / 60
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;

-- troubled_schedules: a page of identities of schedules whose last period ended in a state
SELECT schedule_id FROM schedule_state
WHERE tenant_id = %(tenant)s AND last_state = %(last)s AND last_state <> 'success' AND NOT deleted
  AND schedule_id > %(after)s AND schedule_id >= %(scope)s AND starts_with(schedule_id, %(scope)s)
ORDER BY schedule_id
LIMIT %(limit)s;

-- paused_schedules: a page of identities of paused schedules
SELECT schedule_id FROM schedule_state
WHERE tenant_id = %(tenant)s AND paused AND NOT deleted
  AND schedule_id > %(after)s AND schedule_id >= %(scope)s AND starts_with(schedule_id, %(scope)s)
ORDER BY schedule_id
LIMIT %(limit)s;

-- pauses: the first paused schedules, each with the last action that changed it
SELECT p.schedule_id, a.number, a.action, a.at, a.until, a.actor, a.note
FROM (
    SELECT schedule_id FROM schedule_state
    WHERE tenant_id = %(tenant)s AND paused AND NOT deleted
      AND schedule_id >= %(scope)s AND starts_with(schedule_id, %(scope)s)
    ORDER BY schedule_id
    LIMIT %(limit)s
) AS p
LEFT JOIN LATERAL (
    SELECT number, action, at, until, actor, note FROM schedule_actions
    WHERE tenant_id = %(tenant)s AND schedule_id = p.schedule_id AND action IN ('paused', 'resumed', 'deleted')
    ORDER BY number DESC
    LIMIT 1
) AS a ON true;

-- has_name_index: whether the names have an index of trigrams
SELECT to_regclass('schedule_names_trigrams') IS NOT NULL;

-- limit_to_pattern: only names that match are visible in `schedule_names`; a search for too many of them ends early
SELECT set_config('app.name_pattern', %(pattern)s, true), set_config('statement_timeout', '200ms', true),
       set_config('enable_bitmapscan', 'on', true);

-- names_containing: a page of identities that match a pattern. The table has no index in order, so that the planner has
-- to use the trigrams
WITH named AS MATERIALIZED (
    SELECT schedule_id FROM schedule_names
    WHERE tenant_id = %(tenant)s AND schedule_id LIKE %(pattern)s AND schedule_id > %(after)s AND schedule_id >= %(scope)s)
SELECT n.schedule_id
FROM named n, LATERAL (
    SELECT FROM schedule_state d
    WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = n.schedule_id AND NOT d.deleted
    OFFSET 0) AS d
ORDER BY n.schedule_id
LIMIT %(limit)s;

-- next_checks: schedules in the order of their next checks; at most `scanned` index entries of each kind are read
WITH RECURSIVE k AS (
    (SELECT u.kind, 1 AS number FROM schedule_state u WHERE u.tenant_id = %(tenant)s ORDER BY u.kind LIMIT 1)
    UNION ALL
    SELECT f.kind, k.number + 1
    FROM k, LATERAL (
        SELECT u.kind FROM schedule_state u WHERE u.tenant_id = %(tenant)s AND u.kind > k.kind ORDER BY u.kind LIMIT 1) AS f
    WHERE k.number < %(kinds)s)
SELECT d.schedule_id
FROM k, LATERAL (
    SELECT e.wake, e.schedule_id
    FROM (
        SELECT u.wake, u.schedule_id FROM schedule_state u
        WHERE u.tenant_id = %(tenant)s AND u.kind = k.kind AND u.wake <= %(upto)s
        ORDER BY u.wake, u.schedule_id
        LIMIT %(scanned)s) AS e
    WHERE starts_with(e.schedule_id, %(scope)s)
    LIMIT %(limit)s) AS d
ORDER BY d.wake, d.schedule_id
LIMIT %(limit)s;

-- next_checks_of_scope: the next checks of the first schedules of a scope; one row more tells that there are others
SELECT schedule_id, wake FROM schedule_state
WHERE tenant_id = %(tenant)s AND schedule_id >= %(scope)s AND starts_with(schedule_id, %(scope)s)
ORDER BY schedule_id
LIMIT %(limit)s;

-- recent_runs: the newest scheduled runs of each schedule
SELECT r.*
FROM unnest(%(schedules)s) AS s (schedule_id), LATERAL (
    SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
           reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
           launched, failures, ends_by
    FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = s.schedule_id AND trigger_id = ''
    ORDER BY run_at DESC
    LIMIT %(limit)s) AS r;

-- calendar_facts: calendar facts of a scope
SELECT facts, written_at FROM calendar_facts WHERE tenant_id = %(tenant)s AND scope = %(scope)s;

-- write_calendar_facts: write the calendar facts of a scope
INSERT INTO calendar_facts (tenant_id, scope, facts, written_at)
VALUES (%(tenant)s, %(scope)s, %(facts)s, %(written)s)
ON CONFLICT (tenant_id, scope) DO UPDATE SET facts = excluded.facts, written_at = excluded.written_at;

-- remove_calendar_facts: remove calendar facts that were written before a time
DELETE FROM calendar_facts WHERE tenant_id = %(tenant)s AND scope = ANY (ARRAY(
    SELECT c.scope FROM calendar_facts c
    WHERE c.tenant_id = %(tenant)s AND c.written_at < %(before)s ORDER BY c.written_at LIMIT %(limit)s))
RETURNING scope;

-- latest_runs: the newest runs of some schedules together
SELECT r.*
FROM unnest(%(schedules)s) AS s (schedule_id), LATERAL (
    SELECT encode(idempotency_key, 'hex') AS key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome,
           reason, attempt, owner, lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
           launched, failures, ends_by
    FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = s.schedule_id AND run_at <= %(before)s
      AND (run_at, idempotency_key) < (%(before)s, %(key)s)
    ORDER BY run_at DESC, idempotency_key DESC
    LIMIT %(limit)s) AS r
ORDER BY r.run_at DESC, r.key DESC
LIMIT %(limit)s;

-- recent_gaps: the newest gap records of each schedule
SELECT g.*
FROM unnest(%(schedules)s) AS s (schedule_id), LATERAL (
    SELECT schedule_id, first, last, count, outcome, reason FROM schedule_gaps
    WHERE tenant_id = %(tenant)s AND schedule_id = s.schedule_id
    ORDER BY first DESC
    LIMIT %(limit)s) AS g;

-- latest_actions: the latest actions before a time, latest first
SELECT schedule_id, number, action, at, until, actor, note
FROM schedule_actions
WHERE tenant_id = %(tenant)s AND (at, schedule_id, number) < (%(before)s, %(name)s, %(number)s)
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT %(limit)s;

-- latest_revisions: the latest revisions before a time, latest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
FROM schedule_revisions
WHERE tenant_id = %(tenant)s AND (at, schedule_id, number) < (%(before)s, %(name)s, %(number)s)
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT %(limit)s;

-- latest_actions_of_scope: as `latest_actions`, for one scope
SELECT schedule_id, number, action, at, until, actor, note
FROM schedule_actions
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND (at, schedule_id, number) < (%(before)s, %(name)s, %(number)s)
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT %(limit)s;

-- latest_revisions_of_scope: as `latest_revisions`, for one scope
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
FROM schedule_revisions
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND (at, schedule_id, number) < (%(before)s, %(name)s, %(number)s)
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT %(limit)s;

-- requests_at: the requests for runs of schedules at those times, a few of each
SELECT a.schedule_id, a.number, a.action, a.at, a.until, a.actor, a.note
FROM (SELECT DISTINCT * FROM unnest(%(schedules)s, %(times)s) AS u (schedule_id, at)) AS p
CROSS JOIN LATERAL (
    SELECT * FROM schedule_actions
    WHERE tenant_id = %(tenant)s AND at = p.at AND schedule_id = p.schedule_id
      AND action IN ('triggered', 'backfilled', 'redriven')
    ORDER BY number
    LIMIT %(limit)s) AS a;

-- write_run_ids: write the targets' own run ids
INSERT INTO run_ids (tenant_id, idempotency_key, schedule_id, run_id)
SELECT %(tenant)s, i.* FROM unnest(%(keys)s, %(schedules)s, %(run_ids)s) AS i
ON CONFLICT (tenant_id, idempotency_key) DO UPDATE SET run_id = excluded.run_id;

-- run_ids: the targets' own run ids of those keys
SELECT encode(idempotency_key, 'hex'), run_id FROM run_ids
WHERE tenant_id = %(tenant)s AND idempotency_key = ANY(%(keys)s);

-- write_attempts: write the last results of attempts, under the lock
INSERT INTO run_attempts (tenant_id, idempotency_key, slot, schedule_id, run_at, number, at, duration, result, code, excerpt)
SELECT %(tenant)s, a.*
FROM unnest(%(keys)s, %(slots)s::smallint[], %(schedules)s, %(nominals)s, %(numbers)s::integer[], %(ats)s,
            %(durations)s, %(results)s, %(codes)s::integer[], %(excerpts)s) AS a
ON CONFLICT (tenant_id, idempotency_key, slot) DO UPDATE SET
    number = excluded.number, at = excluded.at, duration = excluded.duration, result = excluded.result,
    code = excluded.code, excerpt = excluded.excerpt;

-- attempts: recorded attempts of runs, oldest first
SELECT r.*
FROM unnest(%(keys)s) AS k (idempotency_key), LATERAL (
    SELECT encode(idempotency_key, 'hex'), number, at, duration, result, code, excerpt
    FROM run_attempts
    WHERE tenant_id = %(tenant)s AND idempotency_key = k.idempotency_key
    ORDER BY number
    OFFSET 0) AS r;

-- dag: a version of a workflow
SELECT dag FROM workflows WHERE tenant_id = %(tenant)s AND workflow_id = %(workflow)s AND version = %(version)s;

-- save_dag: store a version of a workflow
INSERT INTO workflows (tenant_id, workflow_id, version, dag, deployed_at)
VALUES (%(tenant)s, %(workflow)s, %(version)s, %(dag)s, kron_now())
ON CONFLICT (tenant_id, workflow_id, version) DO UPDATE SET dag = excluded.dag, deployed_at = excluded.deployed_at;

-- gaps: gap records of a schedule, oldest first
SELECT first, last, count, outcome, reason FROM schedule_gaps
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY first;

-- revisions: revisions of a schedule, oldest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
FROM schedule_revisions
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY number;

-- actions: recorded changes of a schedule, in the order in which they were written
SELECT action, at, until, actor, note FROM schedule_actions
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND action IN ('paused', 'resumed', 'deleted')
ORDER BY number;

-- durability: server version, durability settings, and whether the role bypasses row-level security
SELECT current_setting('server_version_num')::integer, current_setting('fsync'), current_setting('full_page_writes'),
       current_setting('synchronous_commit'), rolsuper OR rolbypassrls
FROM pg_roles WHERE rolname = current_user;

-- lag: number of due schedules that wait, and the longest wait
SELECT count(*), coalesce(max(kron_now() - wake), 0) FROM schedule_state WHERE tenant_id = %(tenant)s AND wake <= kron_now();

-- bloat: live rows, dead rows and bytes of the table that every pass of a worker rewrites
SELECT n_live_tup, n_dead_tup, pg_table_size(relid) FROM pg_stat_user_tables WHERE relid = 'schedule_state'::regclass;

-- partitions: the weeks for which the ledger has a partition
SELECT start FROM kron_partitions;

-- rows_in_interval: whether the ledger has rows in an interval; without a partition in it, only the default partition is read
SELECT EXISTS (SELECT FROM runs WHERE (tenant_id = %(tenant)s) IS TRUE AND run_at >= %(first)s AND run_at < %(last)s);

-- missing_privileges: missing privileges by role
SELECT role, privilege || ' on ' || thing FROM kron_rights WHERE NOT granted ORDER BY role, thing, privilege;

-- limit_lock_wait: short lock_timeout, because workers queue behind a waiting lock request
SET LOCAL lock_timeout = '200ms';

-- allow_long_maintenance: settings of maintenance, which can scan whole tables and take longer
SELECT set_config('statement_timeout', %(limit)s, true), set_config('enable_seqscan', 'on', true),
       set_config('enable_bitmapscan', 'on', true), set_config('enable_hashjoin', 'on', true);

-- lock_maintenance: try to lock, so that one process at a time does maintenance
SELECT pg_try_advisory_xact_lock(hashtextextended('kron maintenance ' || current_schema(), 0));

-- create_partition: create the next missing partition; returns its name or NULL
SELECT kron_make_next(%(ahead)s::integer, %(moved)s::bigint, %(horizon)s::bigint);

-- drop_partition: drop the next old partition; returns its name or NULL
SELECT kron_drop_next(%(horizon)s::bigint);

-- merge_outcomes: merge old counters of outcomes to quarters of an hour; returns how many
SELECT kron_merge_outcomes(%(upto)s::bigint, %(most)s::integer);

-- prune: remove old records; returns their number
SELECT kron_prune(%(horizon)s::bigint, %(most)s::integer);

-- old_partitions: partitions that ended before the horizon and still exist
SELECT name FROM kron_partitions WHERE stop <= %(horizon)s::bigint / 1000 ORDER BY start;

-- horizon: time before which old records may have been removed
SELECT coalesce(max(horizon), 0) FROM retention WHERE tenant_id = %(tenant)s;

-- worker_counts: numbers of living workers, of due schedules that none of them can launch, and of schedules set aside
SELECT (SELECT count(*) FROM workers w WHERE w.tenant_id = %(tenant)s AND w.until > kron_now()),
       (SELECT count(*) FROM schedule_state d WHERE d.tenant_id = %(tenant)s AND d.wake <= kron_now() AND NOT d.deleted
        AND NOT EXISTS (SELECT FROM kinds k WHERE k.tenant_id = d.tenant_id AND k.kind = d.kind AND k.until > kron_now())),
       (SELECT count(*) FROM schedule_state d WHERE d.tenant_id = %(tenant)s AND d.aside IS NOT NULL);

-- tz_versions: versions of the tz databases of the living workers, with their number of workers
SELECT tz, count(*) FROM workers WHERE tenant_id = %(tenant)s AND until > kron_now() AND tz <> '' GROUP BY tz ORDER BY tz;

-- unlaunchable: target kinds that no living worker can launch, with their number of schedules
SELECT d.kind, count(*) FROM schedule_state d
WHERE d.tenant_id = %(tenant)s AND NOT d.deleted AND d.wake IS NOT NULL AND NOT EXISTS (
    SELECT FROM kinds k WHERE k.tenant_id = d.tenant_id AND k.kind = d.kind AND k.until > kron_now())
GROUP BY d.kind ORDER BY d.kind LIMIT 100;

-- set_aside_schedules: schedules that are set aside, with the reason
SELECT schedule_id, aside FROM schedule_state WHERE tenant_id = %(tenant)s AND aside IS NOT NULL ORDER BY schedule_id LIMIT 100;

-- notify: send a wake-up notification
SELECT pg_notify('kron', %(whose)s);

-- listen: receive wake-up notifications
LISTEN kron;

-- backend_pid: process id of the backend
SELECT pg_backend_pid();

-- grow_ring: reserve the numbers of new events; the row stays locked up to the commit
INSERT INTO event_ring AS r (tenant_id, newest, until) VALUES (%(tenant)s, %(count)s, 0)
ON CONFLICT (tenant_id) DO UPDATE SET newest = r.newest + %(count)s
RETURNING newest;

-- write_events: append a batch of events to the ring
INSERT INTO events (tenant_id, last, count, batch) VALUES (%(tenant)s, %(last)s, %(count)s, %(batch)s);

-- trim_ring: remove the oldest batches of the ring
DELETE FROM events WHERE tenant_id = %(tenant)s AND last <= %(upto)s;

-- ring: the newest number that was given, and until when processes listen
SELECT newest, until FROM event_ring WHERE tenant_id = %(tenant)s;

-- read_events: the batches that have the first events after a position of the ring
SELECT last, batch
FROM (
    SELECT last, batch, left_of_batch, sum(left_of_batch) OVER (ORDER BY last) AS total
    FROM (
        SELECT last, batch, least(count, last - %(after)s) AS left_of_batch
        FROM events
        WHERE tenant_id = %(tenant)s AND last > %(after)s
    ) AS following
) AS counted
WHERE total - left_of_batch < %(limit)s
ORDER BY last;

-- listen_to_ring: register that a process listens; leave out a number if none did
INSERT INTO event_ring AS r (tenant_id, newest, until) VALUES (%(tenant)s, 1, %(now)s + %(length)s)
ON CONFLICT (tenant_id) DO UPDATE SET
    newest = r.newest + (r.until NOT BETWEEN %(now)s + 1 AND %(now)s + %(length)s)::integer,
    until = %(now)s + %(length)s;
