-- Every statement of the store, each under its name.
--
-- What `begin` sets holds for its transaction alone, so that any connection of a pooler will do. Whoever writes to the
-- runs of a schedule has locked its row in `due` first, in the order of the names: so nobody waits in a circle, and
-- what was read under the lock is still so when it is written.
--
-- The rows of a batch are found from the batch, one by one, whatever the planner believes of a table that has just grown,
-- or of a week of the ledger that has just begun. So the tenant is asked for by IS TRUE: an equality could also be
-- answered by going through all rows of the tenant, and through the whole batch for each. A read that is joined to the
-- batch is made for each row by itself (LATERAL, with an OFFSET that keeps it so). An update asks for ANY of one name: an
-- equality could be turned round, and the batch be gone through for each row of the table; a range could be looked for
-- through the whole of another index. So it locks in the order of the batch, too.

-- begin: for whom, and where the tables are; see what is committed by each statement
BEGIN;
SET LOCAL app.tenant = {tenant};
SET LOCAL search_path = {schema}, pg_temp;

-- begin_reading: the same, but change nothing, and see one state throughout
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL app.tenant = {tenant};
SET LOCAL search_path = {schema}, pg_temp;

-- bounds: said with a beginning: how long anything may take, and that rows are found by keys alone, in their order
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

-- narrow: said with a beginning: only the schedules whose names begin so are there
SET LOCAL app.within = {within};

-- commit: durable when it returns
COMMIT;

-- version: the newest migration
SELECT max(number) FROM kron_migrations;

-- now: the clock of the database
SELECT kron_now();

-- clock: the same outside of a transaction
SELECT {schema}.kron_now();

-- alone_in_leasing: one at a time decides who looks at what, and when its turn came
SELECT pg_advisory_xact_lock(hashtextextended('kron leases ' || current_schema() || ' ' || %(tenant)s, 0)), kron_now();

-- living: all workers that were heard of, in order
SELECT owner, joined, said, until, kinds FROM workers WHERE tenant_id = %(tenant)s ORDER BY owner;

-- live: workers live until then
INSERT INTO workers (tenant_id, owner, joined, said, until, kinds)
VALUES (%(tenant)s, %(owner)s, %(joined)s, %(said)s, %(until)s, %(kinds)s)
ON CONFLICT (tenant_id, owner) DO UPDATE SET
    joined = excluded.joined, said = excluded.said, until = excluded.until, kinds = excluded.kinds;

-- forget: workers that are not heard of any more
DELETE FROM workers WHERE tenant_id = %(tenant)s AND owner = ANY(%(owners)s);

-- kinds: for which kinds of target there was a worker, and until when
SELECT kind, said, until, down_from, up_since FROM kinds WHERE tenant_id = %(tenant)s;

-- serve: there is a worker for those kinds until then, or was
INSERT INTO kinds (tenant_id, kind, said, until, down_from, up_since)
SELECT %(tenant)s, k.* FROM unnest(%(kinds)s, %(saids)s, %(untils)s, %(froms)s, %(sinces)s) AS k
ON CONFLICT (tenant_id, kind) DO UPDATE SET
    said = excluded.said, until = excluded.until, down_from = excluded.down_from, up_since = excluded.up_since;

-- look: the schedules of a share that are to be looked at by then, the longest waiting first
SELECT d.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen, reach, owed
    FROM due
    WHERE tenant_id = %(tenant)s AND kind = k.kind AND wake <= %(upto)s
      AND (wake, schedule_id) > (%(after)s, %(name)s) AND shard = ANY(%(shards)s)
    ORDER BY wake, schedule_id
    LIMIT %(limit)s) AS d
ORDER BY wake, schedule_id
LIMIT %(limit)s;

-- look_everywhere: the same for who has all the shards
SELECT d.*
FROM unnest(%(kinds)s) AS k (kind), LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen, reach, owed
    FROM due
    WHERE tenant_id = %(tenant)s AND kind = k.kind AND wake <= %(upto)s
      AND (wake, schedule_id) > (%(after)s, %(name)s)
    ORDER BY wake, schedule_id
    LIMIT %(limit)s) AS d
ORDER BY wake, schedule_id
LIMIT %(limit)s;

-- poll: what time it is, and when the next schedule of a share is to be looked at; one round trip, asked all the time
SELECT now, wake FROM {schema}.kron_poll(%(tenant)s, %(within)s, %(kinds)s, %(shards)s);

-- set_aside: look at a schedule no earlier than that
UPDATE due SET wake = %(until)s, aside = %(reason)s
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s;

-- standing: what time it is, and schedules by their names; if there is none of them, the time alone
SELECT kron_now(), d.*
FROM (VALUES (0)) AS once LEFT JOIN LATERAL (
    SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen, reach, owed
    FROM due
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s)
    OFFSET 0) AS d ON true;

-- revisions_of: older definitions of schedules, by their numbers
SELECT r.*
FROM unnest(%(schedules)s, %(revisions)s) AS s (schedule_id, number), LATERAL (
    SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
           number, at, who, note, cursor
    FROM schedule_revisions
    WHERE tenant_id = %(tenant)s AND schedule_id = s.schedule_id AND number = s.number
    OFFSET 0) AS r;

-- lock: schedules by their names, for who is about to write
SELECT schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen, reach, owed
FROM due
WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s)
ORDER BY schedule_id
FOR NO KEY UPDATE;

-- definitions: what they are
SELECT d.*
FROM unnest(%(schedules)s) AS s (schedule_id), LATERAL (
    SELECT schedule_id, digest, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at
    FROM definitions
    WHERE tenant_id = %(tenant)s AND schedule_id = s.schedule_id
    OFFSET 0) AS d;

-- open_runs: the runs of which something may still become
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = ANY(%(schedules)s) AND open
ORDER BY schedule_id, run_at, trigger_id, idempotency_key;

-- ahead: the periods beyond each cursor that are handled already
SELECT r.*
FROM unnest(%(schedules)s, %(cursors)s) AS c (schedule_id, cursor), LATERAL (
    SELECT schedule_id, run_at FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = c.schedule_id AND run_at > c.cursor AND trigger_id = ''
    OFFSET 0) AS r;

-- of_periods: runs by their periods
SELECT r.*
FROM unnest(%(schedules)s, %(nominals)s, %(triggers)s) AS p (schedule_id, run_at, trigger_id), LATERAL (
    SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
           attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
    FROM runs
    WHERE (tenant_id = %(tenant)s) IS TRUE AND schedule_id = p.schedule_id AND run_at = p.run_at
      AND trigger_id = p.trigger_id
    OFFSET 0) AS r;

-- of_keys: runs by their keys
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE (tenant_id = %(tenant)s) IS TRUE AND idempotency_key = ANY(%(keys)s);

-- requested: which of those keys were ever asked for by hand
SELECT encode(idempotency_key, 'hex') FROM requests WHERE tenant_id = %(tenant)s AND idempotency_key = ANY(%(keys)s);

-- advance: schedules that are still as they were read go on; which were
UPDATE due d SET
    cursor = s.cursor, wake = s.wake, seen = s.seen, reach = greatest(d.reach, s.reach), next_at = s.next_at, aside = NULL
FROM unnest(%(schedules)s, %(revisions)s, %(cursors)s, %(seens)s, %(next_cursors)s, %(sinces)s, %(wakes)s,
            %(next_seens)s, %(reaches)s, %(nexts)s)
     AS s (schedule_id, revision, old_cursor, old_seen, cursor, since, wake, seen, reach, next_at)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id]) AND d.revision = s.revision
  AND d.cursor = s.old_cursor AND d.since = s.since AND d.seen = s.old_seen AND d.paused = %(paused)s AND d.deleted = %(deleted)s
RETURNING d.schedule_id;

-- define: schedules that have never been; which were not
INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description,
                         command, target, start_at, end_at, updated_at)
SELECT %(tenant)s, s.*, %(now)s
FROM unnest(%(schedules)s, %(digests)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s,
            %(descriptions)s, %(commands)s, %(targets)s, %(starts)s, %(ends)s) AS s
ON CONFLICT DO NOTHING
RETURNING schedule_id;

-- edit: schedules are defined anew, under the lock: what they are, how far they have come, and the revision, for ever
WITH defined AS (
    INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description,
                             command, target, start_at, end_at, updated_at)
    SELECT %(tenant)s, s.*, %(now)s
    FROM unnest(%(schedules)s, %(digests)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s,
                %(descriptions)s, %(commands)s, %(targets)s, %(starts)s, %(ends)s) AS s
    ON CONFLICT (tenant_id, schedule_id) DO UPDATE SET
        digest = excluded.digest, schedule = excluded.schedule, dialect = excluded.dialect,
        timezone = excluded.timezone, policy = excluded.policy, name = excluded.name,
        description = excluded.description, command = excluded.command, target = excluded.target,
        start_at = excluded.start_at, end_at = excluded.end_at, updated_at = excluded.updated_at
), revised AS (
    INSERT INTO schedule_revisions (tenant_id, schedule_id, schedule, dialect, timezone, policy, name, description,
                                    command, target, start_at, end_at, number, at, who, note, cursor)
    SELECT %(tenant)s, r.*
    FROM unnest(%(schedules)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s, %(descriptions)s,
                %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(numbers)s::integer[], %(ats)s, %(whos)s, %(notes)s,
                %(froms)s) AS r
)
UPDATE due d SET
    digest = s.digest, revision = s.revision, cursor = s.cursor, since = s.since, paused = s.paused,
    deleted = s.deleted, wake = s.wake, paused_until = s.paused_until, seen = s.seen,
    reach = greatest(d.reach, s.reach), kind = s.kind, next_at = s.next_at, owed = s.owed, aside = NULL
FROM unnest(%(schedules)s, %(digests)s, %(revisions)s::integer[], %(cursors)s, %(sinces)s, %(paused)s, %(deleted)s,
            %(wakes)s, %(untils)s, %(seens)s, %(reaches)s, %(kinds)s, %(nexts)s, %(oweds)s)
     AS s (schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen, reach, kind,
           next_at, owed)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id]);

-- stand: how far they have come, under the lock
INSERT INTO due (tenant_id, schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, seen,
                 reach, kind, shard, next_at, owed)
SELECT %(tenant)s, s.*
FROM unnest(%(schedules)s, %(digests)s, %(revisions)s::integer[], %(cursors)s, %(sinces)s, %(paused)s, %(deleted)s,
            %(wakes)s, %(untils)s, %(seens)s, %(reaches)s, %(kinds)s, %(shards)s::smallint[], %(nexts)s, %(oweds)s) AS s
ON CONFLICT (schedule_id, tenant_id) DO UPDATE SET
    digest = excluded.digest, revision = excluded.revision, cursor = excluded.cursor, since = excluded.since,
    paused = excluded.paused, deleted = excluded.deleted, wake = excluded.wake, paused_until = excluded.paused_until,
    seen = excluded.seen, reach = greatest(due.reach, excluded.reach), kind = excluded.kind,
    next_at = excluded.next_at, owed = excluded.owed, aside = NULL;

-- record: new runs that differ in little
INSERT INTO runs (tenant_id, schedule_id, run_at, fire_at, revision, idempotency_key, not_before, status, trigger_id,
                  outcome, reason, attempt, owner, lease_until, doubt, created_at, updated_at, sent_at, unsent, alone)
SELECT %(tenant)s, r.*, %(status)s, %(trigger)s, %(outcome)s, %(reason)s, %(attempt)s, %(owner)s, %(lease)s,
       %(doubt)s, %(created)s, %(changed)s, %(sent)s, %(unsent)s, %(alone)s
FROM unnest(%(schedules)s, %(nominals)s, %(dues)s, %(revisions)s::integer[], %(keys)s, %(not_befores)s) AS r;

-- request: the keys of runs that were asked for by hand
INSERT INTO requests (tenant_id, idempotency_key, schedule_id, run_at)
SELECT %(tenant)s, r.* FROM unnest(%(keys)s, %(schedules)s, %(nominals)s) AS r;

-- move: runs go on, under the lock; whether one must be alone is asked when it starts
UPDATE runs r SET
    status = m.status, outcome = m.outcome, reason = m.reason, attempt = m.attempt::integer, owner = m.owner,
    lease_until = m.lease, not_before = m.not_before, doubt = m.doubt, updated_at = m.changed,
    sent_at = m.sent, unsent = m.unsent::integer,
    alone = CASE WHEN r.status IN ('launching', 'retry', 'enqueued', 'started') THEN r.alone ELSE m.alone END
FROM unnest(%(schedules)s, %(nominals)s, %(triggers)s, %(statuses)s, %(outcomes)s, %(reasons)s, %(attempts)s,
            %(owners)s, %(leases)s, %(not_befores)s, %(doubts)s, %(changes)s, %(sents)s, %(unsents)s, %(alones)s)
     AS m (schedule_id, run_at, trigger_id, status, outcome, reason, attempt, owner, lease, not_before, doubt, changed,
           sent, unsent, alone)
WHERE (r.tenant_id = %(tenant)s) IS TRUE AND r.schedule_id = ANY (ARRAY[m.schedule_id])
  AND r.run_at = m.run_at AND r.trigger_id = m.trigger_id;

-- stir: what was said of the runs of schedules, folded into what is seen of them; and they wake no later than then
UPDATE due d SET seen = d.seen # s.delta, wake = least(d.wake, s.wake)
FROM unnest(%(schedules)s, %(deltas)s, %(wakes)s) AS s (schedule_id, delta, wake)
WHERE (d.tenant_id = %(tenant)s) IS TRUE AND d.schedule_id = ANY (ARRAY[s.schedule_id])
  AND (s.delta <> 0 OR s.wake < d.wake OR s.wake IS NOT NULL AND d.wake IS NULL);

-- drop: periods without a row each
INSERT INTO schedule_gaps (tenant_id, schedule_id, first, last, count, outcome, reason)
SELECT %(tenant)s, g.* FROM unnest(%(schedules)s, %(firsts)s, %(lasts)s, %(counts)s, %(outcomes)s, %(reasons)s) AS g;

-- revise: complete definitions, kept permanently
INSERT INTO schedule_revisions (tenant_id, schedule_id, schedule, dialect, timezone, policy, name, description,
                                command, target, start_at, end_at, number, at, who, note, cursor)
SELECT %(tenant)s, r.*
FROM unnest(%(schedules)s, %(texts)s, %(dialects)s, %(zones)s, %(policies)s, %(names)s, %(descriptions)s,
            %(commands)s, %(targets)s, %(starts)s, %(ends)s, %(numbers)s::integer[], %(ats)s, %(whos)s, %(notes)s,
            %(froms)s) AS r;

-- act: what somebody did, for ever
INSERT INTO schedule_acts (tenant_id, schedule_id, deed, at, until, who, note)
SELECT %(tenant)s, a.*
FROM unnest(%(schedules)s, %(deeds)s, %(ats)s, %(untils)s, %(whos)s, %(notes)s) AS a;

-- identities: a page of the names
SELECT schedule_id FROM due
WHERE tenant_id = %(tenant)s AND schedule_id > %(after)s AND schedule_id >= %(prefix)s
  AND starts_with(schedule_id, %(prefix)s) AND deleted = %(deleted)s
  AND (%(paused)s::boolean IS NULL OR paused = %(paused)s)
ORDER BY schedule_id
LIMIT %(limit)s;

-- runs: the newest runs of a schedule
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT %(limit)s;

-- runs_before: the newest of those that are older than a run
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND (run_at, trigger_id, idempotency_key) < (
    SELECT run_at, trigger_id, idempotency_key FROM runs
    WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s AND idempotency_key = %(before)s)
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT %(limit)s;

-- dead: the runs that could not be started, the last that was given up first
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE tenant_id = %(tenant)s AND status = 'failed' AND outcome = 'missed' AND starts_with(schedule_id, %(prefix)s)
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT %(limit)s;

-- dead_before: the same from a run on
SELECT encode(idempotency_key, 'hex'), schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason,
       attempt, owner, lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM runs
WHERE tenant_id = %(tenant)s AND status = 'failed' AND outcome = 'missed' AND starts_with(schedule_id, %(prefix)s)
  AND (updated_at, idempotency_key) < (
    SELECT updated_at, idempotency_key FROM runs
    WHERE tenant_id = %(tenant)s AND idempotency_key = %(before)s AND status = 'failed' AND outcome = 'missed'
      AND starts_with(schedule_id, %(prefix)s))
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT %(limit)s;

-- call: what targets call their runs
INSERT INTO run_ids (tenant_id, idempotency_key, schedule_id, run_id)
SELECT %(tenant)s, i.* FROM unnest(%(keys)s, %(schedules)s, %(run_ids)s) AS i
ON CONFLICT (tenant_id, idempotency_key) DO UPDATE SET run_id = excluded.run_id;

-- called: what the targets of those keys call them
SELECT encode(idempotency_key, 'hex'), run_id FROM run_ids
WHERE tenant_id = %(tenant)s AND idempotency_key = ANY(%(keys)s);

-- dag: a version of a workflow
SELECT dag FROM workflows WHERE tenant_id = %(tenant)s AND workflow_id = %(workflow)s AND version = %(version)s;

-- deploy: keep a version of a workflow
INSERT INTO workflows (tenant_id, workflow_id, version, dag, deployed_at)
VALUES (%(tenant)s, %(workflow)s, %(version)s, %(dag)s, kron_now())
ON CONFLICT (tenant_id, workflow_id, version) DO UPDATE SET dag = excluded.dag, deployed_at = excluded.deployed_at;

-- gaps: those of a schedule, oldest first
SELECT first, last, count, outcome, reason FROM schedule_gaps
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY first;

-- revisions: those of a schedule, oldest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       number, at, who, note, cursor
FROM schedule_revisions
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY number;

-- acts: those of a schedule, in the order in which they were written
SELECT deed, at, until, who, note FROM schedule_acts
WHERE tenant_id = %(tenant)s AND schedule_id = %(schedule)s
ORDER BY number;

-- durability: what the server does with a commit, and who we are
SELECT current_setting('server_version_num')::integer, current_setting('fsync'), current_setting('full_page_writes'),
       current_setting('synchronous_commit'), rolsuper OR rolbypassrls
FROM pg_roles WHERE rolname = current_user;

-- lag: how many schedules wait to be looked at, and for how long the first of them has
SELECT count(*), coalesce(max(kron_now() - wake), 0) FROM due WHERE tenant_id = %(tenant)s AND wake <= kron_now();

-- bloat: live and dead rows of the table that every tick rewrites, and its bytes
SELECT n_live_tup, n_dead_tup, pg_table_size(relid) FROM pg_stat_user_tables WHERE relid = 'due'::regclass;

-- partitions: the weeks of the ledger that there are
SELECT start FROM kron_partitions;

-- strays: whether the ledger has rows between two seconds; where no week lies between them, only the default is read
SELECT EXISTS (SELECT FROM runs WHERE (tenant_id = %(tenant)s) IS TRUE AND run_at >= %(first)s AND run_at < %(last)s);

-- lacking: the rights that a role should have, and has not
SELECT role, privilege || ' on ' || thing FROM kron_rights WHERE NOT granted ORDER BY role, thing, privilege;

-- briefly: wait for no lock for long, since ticks wait behind who waits
SET LOCAL lock_timeout = '200ms';

-- unhurried: maintenance may look at a whole table, and may take its time
SELECT set_config('statement_timeout', %(limit)s, true), set_config('enable_seqscan', 'on', true),
       set_config('enable_bitmapscan', 'on', true), set_config('enable_hashjoin', 'on', true);

-- alone_in_maintenance: one process at a time; whether it is this one
SELECT pg_try_advisory_xact_lock(hashtextextended('kron maintenance ' || current_schema(), 0));

-- make_next: make the next partition that is missing; its name, or nothing
SELECT kron_make_next(%(ahead)s::integer, %(moved)s::bigint, %(horizon)s::bigint);

-- drop_next: drop the next partition that is old; its name, or nothing
SELECT kron_drop_next(%(horizon)s::bigint);

-- prune: remove old records; how many
SELECT kron_prune(%(horizon)s::bigint, %(most)s::integer);

-- old_partitions: those that ended before the horizon, and are still there
SELECT name FROM kron_partitions WHERE stop <= %(horizon)s::bigint / 1000 ORDER BY start;

-- horizon: up to when old records may have been removed
SELECT coalesce(max(horizon), 0) FROM retention WHERE tenant_id = %(tenant)s;

-- served: the workers that live, the schedules that are due and that none of them can launch, and those set aside
SELECT (SELECT count(*) FROM workers w WHERE w.tenant_id = %(tenant)s AND w.until > kron_now()),
       (SELECT count(*) FROM due d WHERE d.tenant_id = %(tenant)s AND d.wake <= kron_now() AND NOT d.deleted
        AND NOT EXISTS (SELECT FROM kinds k WHERE k.tenant_id = d.tenant_id AND k.kind = d.kind AND k.until > kron_now())),
       (SELECT count(*) FROM due d WHERE d.tenant_id = %(tenant)s AND d.aside IS NOT NULL);

-- unlaunchable: the kinds of target that schedules have and no living worker can launch, and how many have each
SELECT d.kind, count(*) FROM due d
WHERE d.tenant_id = %(tenant)s AND NOT d.deleted AND d.wake IS NOT NULL AND NOT EXISTS (
    SELECT FROM kinds k WHERE k.tenant_id = d.tenant_id AND k.kind = d.kind AND k.until > kron_now())
GROUP BY d.kind ORDER BY d.kind LIMIT 100;

-- aside: the schedules that were set aside, and why
SELECT schedule_id, aside FROM due WHERE tenant_id = %(tenant)s AND aside IS NOT NULL ORDER BY schedule_id LIMIT 100;

-- ring: somebody has asked for something that is to be looked at now
SELECT pg_notify('kron', %(whose)s);

-- listen: hear what is rung
LISTEN kron;

-- process: the server process that answers
SELECT pg_backend_pid();
