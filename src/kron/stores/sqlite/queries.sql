-- Every statement of the store, each under its name. Who writes has begun with BEGIN IMMEDIATE, which lets one
-- connection in at a time; what was checked before a write is therefore still so when it is written.

-- tables: how many tables, indexes and triggers there are
SELECT count(*) FROM sqlite_master;

-- version: of the schema
PRAGMA user_version;

-- application: whose file it is
PRAGMA application_id;

-- write_ahead: readers and a writer are not in each other's way
PRAGMA journal_mode = WAL;

-- be_durable: a commit is on the disk when it returns
PRAGMA synchronous = FULL;

-- keep_references: no run without its schedule
PRAGMA foreign_keys = ON;

-- have_room: 32 MiB of pages in memory; with SQLite's own 2 a large batch is written twice
PRAGMA cache_size = -32768;

-- begin: be the only one who writes
BEGIN IMMEDIATE;

-- begin_reading: see one state of the file
BEGIN;

-- commit: durable when it returns
COMMIT;

-- rollback: nothing has happened
ROLLBACK;

-- attempt: one work among several in a transaction
SAVEPOINT attempt;

-- undo_attempt: it alone has not happened
ROLLBACK TO attempt;

-- end_attempt: it is over
RELEASE attempt;

-- living: all who were heard of, in order
SELECT owner, joined, said, until, kinds FROM workers ORDER BY owner;

-- live: a worker lives until then
INSERT INTO workers (owner, joined, said, until, kinds) VALUES (:owner, :joined, :said, :until, :kinds)
ON CONFLICT (owner) DO UPDATE SET
    joined = excluded.joined, said = excluded.said, until = excluded.until, kinds = excluded.kinds;

-- forget: a worker is not heard of any more
DELETE FROM workers WHERE owner = :owner;

-- kinds: for which kinds of target there was a worker, and until when
SELECT kind, said, until, down_from, up_since FROM kinds;

-- serve: there is a worker for a kind until then, or was
INSERT INTO kinds (kind, said, until, down_from, up_since) VALUES (:kind, :said, :until, :down_from, :up_since)
ON CONFLICT (kind) DO UPDATE SET
    said = excluded.said, until = excluded.until, down_from = excluded.down_from, up_since = excluded.up_since;

-- look: the schedules that are to be looked at by then, the longest waiting first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       revision, cursor, since, paused, deleted, wake, paused_until, owed
FROM schedules
WHERE wake IS NOT NULL AND wake <= :upto AND (wake, schedule_id) > (:after, :identity)
  AND shard IN (SELECT value FROM json_each(:shards)) AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY wake, schedule_id
LIMIT :limit;

-- set_aside: look at a schedule no earlier than that
UPDATE schedules SET wake = :until, aside = :reason WHERE schedule_id = :schedule_id;

-- wake: when the next schedule of a share is to be looked at
SELECT wake FROM schedules
WHERE wake IS NOT NULL AND shard IN (SELECT value FROM json_each(:shards))
  AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY wake
LIMIT 1;

-- schedules: those of these names
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       revision, cursor, since, paused, deleted, wake, paused_until, owed
FROM schedules
WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- open_runs: the runs of schedules of which something may still become
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE schedule_id IN (SELECT value FROM json_each(:names))
  AND status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
ORDER BY schedule_id, run_at, trigger_id;

-- ahead: the periods beyond the cursors of schedules that are handled already
SELECT r.schedule_id, r.run_at
FROM json_each(:names) n
CROSS JOIN schedules s ON s.schedule_id = n.value
CROSS JOIN schedule_runs r ON r.schedule_id = s.schedule_id AND r.trigger_id = '' AND r.run_at > s.cursor;

-- of_keys: runs by their keys
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE idempotency_key IN (SELECT value FROM json_each(:keys));

-- taken: which of those keys have a run
SELECT idempotency_key FROM schedule_runs WHERE idempotency_key IN (SELECT value FROM json_each(:keys));

-- define: a schedule that has never been
INSERT INTO schedules (
    schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
    revision, cursor, since, paused, deleted, wake, paused_until, shard, kind, next_at, owed)
VALUES (
    :schedule_id, :schedule, :dialect, :timezone, :policy, :name, :description, :command, :target, :start_at, :end_at,
    :revision, :cursor, :since, :paused, :deleted, :wake, :paused_until, :shard, :kind, :next_at, :owed);

-- redefine: a new revision
UPDATE schedules SET
    schedule = :schedule, dialect = :dialect, timezone = :timezone, policy = :policy, name = :name,
    description = :description, command = :command, target = :target, start_at = :start_at, end_at = :end_at,
    revision = :revision, cursor = :cursor, since = :since, paused = :paused, deleted = :deleted, wake = :wake,
    paused_until = :paused_until, kind = :kind, aside = NULL, next_at = :next_at, owed = :owed
WHERE schedule_id = :schedule_id;

-- advance: the same definition, further on
UPDATE schedules SET
    cursor = :cursor, since = :since, paused = :paused, deleted = :deleted, wake = :wake, paused_until = :paused_until,
    aside = NULL, next_at = :next_at, owed = :owed
WHERE schedule_id = :schedule_id;

-- go_on: the same, for a schedule that is still as it was read, and has no open run
UPDATE schedules SET cursor = :cursor, wake = :wake, aside = NULL, next_at = :next_at
WHERE schedule_id = :schedule_id AND revision = :revision AND cursor = :old_cursor AND since = :old_since
  AND NOT paused AND NOT deleted
  AND NOT EXISTS (
    SELECT 1 FROM schedule_runs r
    WHERE r.schedule_id = schedules.schedule_id
      AND r.status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting'));

-- wake_earlier: look at a schedule no later than then
UPDATE schedules SET wake = :wake WHERE schedule_id = :schedule_id AND (wake IS NULL OR wake > :wake);

-- record: a new run
INSERT INTO schedule_runs (
    idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
    lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent, alone)
VALUES (
    :key, :identity, :nominal, :revision, :due, :state, :trigger, :verdict, :reason, :attempt, :owner,
    :lease, :not_before, :doubt, :created, :changed, :sent, :unsent, :alone);

-- move: a run goes on; whether it must be alone is asked when it starts
UPDATE schedule_runs SET
    status = :state, outcome = :verdict, reason = :reason, attempt = :attempt, owner = :owner, lease_until = :lease,
    not_before = :not_before, doubt = :doubt, updated_at = :changed,
    sent_at = :sent, unsent = :unsent,
    alone = CASE WHEN status IN ('launching', 'retry', 'enqueued', 'started') THEN alone ELSE :alone END
WHERE idempotency_key = :key;

-- speak: the same, for an attempt that still has its token; a change starts nothing
UPDATE schedule_runs SET
    status = :state, outcome = :verdict, reason = :reason, attempt = :attempt, owner = :owner, lease_until = :lease,
    not_before = :not_before, doubt = :doubt, updated_at = :changed, sent_at = :sent, unsent = :unsent,
    alone = alone AND status IN ('launching', 'retry', 'enqueued', 'started')
WHERE idempotency_key = :key AND status = :old_state AND attempt = :old_attempt AND owner = :old_owner
  AND lease_until IS :old_lease
  AND (outcome IS NULL OR outcome = :verdict);

-- drop: periods without a row each
INSERT INTO schedule_gaps (schedule_id, first, last, count, outcome, reason)
VALUES (:schedule_id, :first, :last, :count, :verdict, :reason);

-- revise: a complete definition, kept permanently
INSERT INTO schedule_revisions (
    schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
    number, at, who, note, cursor)
VALUES (
    :schedule_id, :schedule, :dialect, :timezone, :policy, :name, :description, :command, :target, :start_at, :end_at,
    :number, :at, :who, :note, :cursor);

-- identities: a page of the names; `beyond` comes after all that begin with the prefix
SELECT schedule_id FROM schedules
WHERE schedule_id > :after AND schedule_id >= :prefix AND schedule_id < :beyond
  AND deleted = :deleted AND (:paused IS NULL OR paused = :paused)
ORDER BY schedule_id
LIMIT :limit;

-- runs: the newest runs of a schedule
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE schedule_id = :schedule_id
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT :limit;

-- runs_before: the newest of those that are older than a run
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE schedule_id = :schedule_id AND (run_at, trigger_id, idempotency_key) < (
    SELECT run_at, trigger_id, idempotency_key FROM schedule_runs
    WHERE idempotency_key = :before AND schedule_id = :schedule_id)
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT :limit;

-- dead: the runs that could not be started, the last that was given up first; `beyond` comes after the prefix
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE status = 'failed' AND outcome = 'missed' AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT :limit;

-- dead_before: the same from a run on
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, doubt, created_at, updated_at, sent_at, unsent
FROM schedule_runs
WHERE status = 'failed' AND outcome = 'missed' AND schedule_id >= :prefix AND schedule_id < :beyond
  AND (updated_at, idempotency_key) < (
    SELECT updated_at, idempotency_key FROM schedule_runs
    WHERE idempotency_key = :before AND status = 'failed' AND outcome = 'missed'
      AND schedule_id >= :prefix AND schedule_id < :beyond)
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT :limit;

-- call: what a target calls a run
INSERT INTO run_ids (idempotency_key, run_id) VALUES (:key, :run_id)
ON CONFLICT (idempotency_key) DO UPDATE SET run_id = excluded.run_id;

-- called: what the target of a run calls it
SELECT run_id FROM run_ids WHERE idempotency_key = :key;

-- gaps: those of a schedule, oldest first
SELECT first, last, count, outcome, reason FROM schedule_gaps WHERE schedule_id = :schedule_id ORDER BY first;

-- revisions: those of a schedule, oldest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       number, at, who, note, cursor
FROM schedule_revisions
WHERE schedule_id = :schedule_id
ORDER BY number;

-- act: what somebody did, for ever
INSERT INTO schedule_acts (schedule_id, deed, at, until, who, note)
VALUES (:schedule_id, :deed, :at, :until, :who, :note);

-- acts: those of a schedule, in the order in which they were written
SELECT deed, at, until, who, note FROM schedule_acts WHERE schedule_id = :schedule_id ORDER BY number;

-- horizon: up to when old records may have been removed
SELECT horizon FROM retention;

-- keep_from: records older than this may be removed from now on
UPDATE retention SET horizon = :horizon WHERE horizon < :horizon;

-- first_recorded: runs in the order in which they were recorded, from a row on, and whether each is old and has ended
SELECT rowid, created_at < :horizon, run_at * 1000 < :horizon AND updated_at < :horizon
       AND status NOT IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
FROM schedule_runs
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- forget_runs: and what their targets call them
DELETE FROM schedule_runs WHERE rowid IN (SELECT value FROM json_each(:rows));

-- forget_gaps: that ended before the horizon
DELETE FROM schedule_gaps WHERE (schedule_id, first) IN (
    SELECT schedule_id, first FROM schedule_gaps WHERE last < :horizon / 1000 ORDER BY last LIMIT :limit);

-- tombstones: schedules that were deleted before the horizon, and have left nothing else
SELECT schedule_id FROM schedules s
WHERE deleted
  AND NOT EXISTS (SELECT 1 FROM schedule_acts a WHERE a.schedule_id = s.schedule_id AND a.at >= :horizon)
  AND NOT EXISTS (SELECT 1 FROM schedule_revisions v WHERE v.schedule_id = s.schedule_id AND v.at >= :horizon)
  AND NOT EXISTS (SELECT 1 FROM schedule_gaps g WHERE g.schedule_id = s.schedule_id)
  AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_id = s.schedule_id)
LIMIT :limit;

-- forget_acts: of tombstones
DELETE FROM schedule_acts WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- forget_revisions: of tombstones
DELETE FROM schedule_revisions WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- forget_schedules: the tombstones themselves
DELETE FROM schedules WHERE schedule_id IN (SELECT value FROM json_each(:names));
