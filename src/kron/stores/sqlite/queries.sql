-- All statements of the SQLite store, by name. A writer starts with BEGIN IMMEDIATE, which admits one connection at a
-- time. What was checked before a write is therefore still true when it is written.

-- tables: number of tables, indexes and triggers
SELECT count(*) FROM sqlite_master;

-- version: schema version
PRAGMA user_version;

-- application: id of the program that owns the file
PRAGMA application_id;

-- use_write_ahead_log: write-ahead log, so that readers and a writer do not block each other
PRAGMA journal_mode = WAL;

-- sync_commits: a commit is on disk when it returns
PRAGMA synchronous = FULL;

-- enforce_references: enforce foreign keys: no run without its schedule
PRAGMA foreign_keys = ON;

-- set_page_cache: 32 MiB page cache; with SQLite's default of 2 MiB a large batch is written twice
PRAGMA cache_size = -32768;

-- set_small_page_cache: 4 MiB page cache
PRAGMA cache_size = -4096;

-- changes_of_others: a number that changes when another connection has written to the file
PRAGMA data_version;

-- begin: start a transaction with the write lock
BEGIN IMMEDIATE;

-- begin_reading: start a transaction that sees one snapshot
BEGIN;

-- commit: commit; durable when it returns
COMMIT;

-- rollback: undo the transaction
ROLLBACK;

-- savepoint: savepoint of one work of several in a transaction
SAVEPOINT attempt;

-- rollback_to_savepoint: undo only this work
ROLLBACK TO attempt;

-- release_savepoint: release the savepoint
RELEASE attempt;

-- workers: all registered workers, in order
SELECT owner, joined, said, until, kinds, tz FROM workers ORDER BY owner;

-- write_worker: write the lease of a worker
INSERT INTO workers (owner, joined, said, until, kinds, tz) VALUES (:owner, :joined, :said, :until, :kinds, :tz)
ON CONFLICT (owner) DO UPDATE SET
    joined = excluded.joined, said = excluded.said, until = excluded.until, kinds = excluded.kinds, tz = excluded.tz;

-- remove_worker: remove a worker whose lease has ended
DELETE FROM workers WHERE owner = :owner;

-- kinds: target kinds, each with its last lease and its last downtime
SELECT kind, said, until, down_from, up_since FROM kinds;

-- write_kind: write lease and downtime of a target kind
INSERT INTO kinds (kind, said, until, down_from, up_since) VALUES (:kind, :said, :until, :down_from, :up_since)
ON CONFLICT (kind) DO UPDATE SET
    said = excluded.said, until = excluded.until, down_from = excluded.down_from, up_since = excluded.up_since;

-- due_schedules: schedules that are due for a check, the longest waiting first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, revision, cursor, since, paused, deleted, wake, paused_until, owed,
       run_count, failure_count
FROM schedules
WHERE wake IS NOT NULL AND wake <= :upto AND (wake, schedule_id) > (:after, :identity)
  AND shard IN (SELECT value FROM json_each(:shards)) AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY wake, schedule_id
LIMIT :limit;

-- set_aside: do not check a schedule before that time
UPDATE schedules SET wake = :until, aside = :reason WHERE schedule_id = :schedule_id;

-- next_check: when the next schedule of a share is due for a check
SELECT wake FROM schedules
WHERE wake IS NOT NULL AND shard IN (SELECT value FROM json_each(:shards))
  AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY wake
LIMIT 1;

-- schedules: schedules by identity
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, revision, cursor, since, paused, deleted, wake, paused_until, owed,
       run_count, failure_count
FROM schedules
WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- open_runs: runs of schedules that have not ended
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id IN (SELECT value FROM json_each(:names))
  AND status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
ORDER BY schedule_id, run_at, trigger_id;

-- ahead: periods beyond the cursors of schedules that are handled already
SELECT r.schedule_id, r.run_at
FROM json_each(:names) n
CROSS JOIN schedules s ON s.schedule_id = n.value
CROSS JOIN schedule_runs r ON r.schedule_id = s.schedule_id AND r.trigger_id = '' AND r.run_at > s.cursor;

-- runs_by_key: runs by key
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE idempotency_key IN (SELECT value FROM json_each(:keys));

-- existing_keys: which of those keys have a run
SELECT idempotency_key FROM schedule_runs WHERE idempotency_key IN (SELECT value FROM json_each(:keys));

-- existing_schedules: which of those identities have a schedule
SELECT schedule_id FROM schedules WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- define: insert a new schedule
INSERT INTO schedules (
    schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
    source, source_dialect, source_timezone, payload, labels, webhook,
    revision, cursor, since, paused, deleted, wake, paused_until, shard, kind, next_at, owed,
    run_count, failure_count)
VALUES (
    :schedule_id, :schedule, :dialect, :timezone, :policy, :name, :description, :command, :target, :start_at, :end_at,
    :source, :source_dialect, :source_timezone, :payload, :labels, :webhook,
    :revision, :cursor, :since, :paused, :deleted, :wake, :paused_until, :shard, :kind, :next_at, :owed,
    :run_count, :failure_count);

-- redefine: write a new revision of a schedule
UPDATE schedules SET
    schedule = :schedule, dialect = :dialect, timezone = :timezone, policy = :policy, name = :name,
    description = :description, command = :command, target = :target, start_at = :start_at, end_at = :end_at,
    source = :source, source_dialect = :source_dialect, source_timezone = :source_timezone,
    payload = :payload, labels = :labels, webhook = :webhook,
    revision = :revision, cursor = :cursor, since = :since, paused = :paused, deleted = :deleted, wake = :wake,
    paused_until = :paused_until, kind = :kind, aside = NULL, next_at = :next_at, owed = :owed,
    run_count = :run_count, failure_count = :failure_count
WHERE schedule_id = :schedule_id;

-- write_progress: write the progress of a schedule with the same definition
UPDATE schedules SET
    cursor = :cursor, since = :since, paused = :paused, deleted = :deleted, wake = :wake, paused_until = :paused_until,
    aside = NULL, next_at = :next_at, owed = :owed,
    run_count = :run_count, failure_count = :failure_count
WHERE schedule_id = :schedule_id;

-- advance_cursor: compare-and-set of a schedule that is unchanged since it was read and has no open run
UPDATE schedules SET cursor = :cursor, wake = :wake, aside = NULL, next_at = :next_at
WHERE schedule_id = :schedule_id AND revision = :revision AND cursor = :old_cursor AND since = :old_since
  AND NOT paused AND NOT deleted
  AND NOT EXISTS (
    SELECT 1 FROM schedule_runs r
    WHERE r.schedule_id = schedules.schedule_id
      AND r.status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting'));

-- wake_earlier: check a schedule no later than that time
UPDATE schedules SET wake = :wake WHERE schedule_id = :schedule_id AND (wake IS NULL OR wake > :wake);

-- count_end: count the end of a run for `pause_on_failure`, and check its schedule no later than that time
UPDATE schedules SET
    wake = CASE WHEN wake IS NULL OR wake > :wake THEN :wake ELSE wake END,
    failure_count = CASE WHEN revision <> :revision THEN failure_count WHEN :failed THEN failure_count + 1 ELSE 0 END
WHERE schedule_id = :schedule_id;

-- insert_run: insert a run
INSERT INTO schedule_runs (
    idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
    lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures,
    ends_by, exclusive)
VALUES (
    :key, :identity, :nominal, :revision, :due, :state, :trigger, :outcome, :reason, :attempt, :owner,
    :lease, :not_before, :maybe_delivered, :created, :changed, :sent, :unsent, :launched, :failures,
    :ends_by, :exclusive);

-- update_run: update a run; whether it must be exclusive is decided when it starts
UPDATE schedule_runs SET
    status = :state, outcome = :outcome, reason = :reason, attempt = :attempt, owner = :owner, lease_until = :lease,
    not_before = :not_before, maybe_delivered = :maybe_delivered, updated_at = :changed,
    sent_at = :sent, unsent = :unsent, launched = :launched, failures = :failures, ends_by = :ends_by,
    exclusive = CASE WHEN status IN ('launching', 'retry', 'enqueued', 'started') THEN exclusive ELSE :exclusive END
WHERE idempotency_key = :key;

-- update_attempt: update a run whose attempt still has its fencing token; such a change never starts a run
UPDATE schedule_runs SET
    status = :state, outcome = :outcome, reason = :reason, attempt = :attempt, owner = :owner, lease_until = :lease,
    not_before = :not_before, maybe_delivered = :maybe_delivered, updated_at = :changed, sent_at = :sent, unsent = :unsent,
    launched = :launched, failures = :failures, ends_by = :ends_by,
    exclusive = exclusive AND status IN ('launching', 'retry', 'enqueued', 'started')
WHERE idempotency_key = :key AND status = :old_state AND attempt = :old_attempt AND owner = :old_owner
  AND lease_until IS :old_lease
  AND (outcome IS NULL OR outcome = :outcome);

-- insert_gap: insert a gap record
INSERT INTO schedule_gaps (schedule_id, first, last, count, outcome, reason)
VALUES (:schedule_id, :first, :last, :count, :outcome, :reason);

-- insert_revision: insert a revision: a complete definition, kept permanently
INSERT INTO schedule_revisions (
    schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
    source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor)
VALUES (
    :schedule_id, :schedule, :dialect, :timezone, :policy, :name, :description, :command, :target, :start_at, :end_at,
    :source, :source_dialect, :source_timezone, :payload, :labels, :webhook, :number, :at, :actor, :note, :cursor);

-- identities: a page of identities; `beyond` sorts after all that start with the prefix
SELECT schedule_id FROM schedules
WHERE schedule_id > :after AND schedule_id >= :prefix AND schedule_id < :beyond
  AND deleted = :deleted AND (:paused IS NULL OR paused = :paused)
ORDER BY schedule_id
LIMIT :limit;

-- labelled_identities: a page of identities of schedules that have a label, and all of the other labels
SELECT l.schedule_id
FROM schedule_labels l JOIN schedules s ON s.schedule_id = l.schedule_id
WHERE l.label = :label AND l.schedule_id > :after AND l.schedule_id >= :prefix AND l.schedule_id < :beyond
  AND s.deleted = :deleted AND (:paused IS NULL OR s.paused = :paused)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:others) o
    WHERE NOT EXISTS (SELECT 1 FROM schedule_labels m WHERE m.label = o.value AND m.schedule_id = l.schedule_id))
ORDER BY l.schedule_id
LIMIT :limit;

-- runs: the newest runs of a schedule
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id = :schedule_id
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT :limit;

-- runs_before: the newest runs of a schedule that are older than a run
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id = :schedule_id AND (run_at, trigger_id, idempotency_key) < (
    SELECT run_at, trigger_id, idempotency_key FROM schedule_runs
    WHERE idempotency_key = :before AND schedule_id = :schedule_id)
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT :limit;

-- latest_runs: the newest runs of a schedule after a position
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id = :schedule_id AND run_at <= :before AND (run_at, idempotency_key) < (:before, :key)
ORDER BY run_at DESC, idempotency_key DESC
LIMIT :limit;

-- runs_between: the newest runs of a schedule with nominal times in a range
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id = :schedule_id AND run_at BETWEEN :first AND :last
ORDER BY run_at DESC, trigger_id DESC, idempotency_key DESC
LIMIT :limit;

-- load_hours: runs that are due in the hours of a range
SELECT hour, counts, kinds, written_at FROM load_hours
WHERE scope = :scope AND hour >= :first AND hour < :last
ORDER BY hour;

-- write_load: write the runs that are due in an hour
INSERT INTO load_hours (scope, hour, counts, kinds, written_at)
VALUES (:scope, :hour, :counts, :kinds, :written_at)
ON CONFLICT (scope, hour) DO UPDATE SET
    counts = excluded.counts, kinds = excluded.kinds, written_at = excluded.written_at;

-- remove_load: remove hours that were written before a time
DELETE FROM load_hours WHERE (scope, hour) IN (
    SELECT scope, hour FROM load_hours WHERE written_at < :before ORDER BY scope, hour LIMIT :limit)
RETURNING hour;

-- calendar_facts: calendar facts of a scope
SELECT facts, written_at FROM calendar_facts WHERE scope = :scope;

-- write_calendar_facts: write the calendar facts of a scope
INSERT INTO calendar_facts (scope, facts, written_at) VALUES (:scope, :facts, :written_at)
ON CONFLICT (scope) DO UPDATE SET facts = excluded.facts, written_at = excluded.written_at;

-- remove_calendar_facts: remove calendar facts that were written before a time
DELETE FROM calendar_facts WHERE scope IN (
    SELECT scope FROM calendar_facts WHERE written_at < :before ORDER BY written_at LIMIT :limit)
RETURNING scope;

-- troubled_runs: runs with one kind of trouble, latest end first; `beyond` sorts after all that start with the prefix
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE CASE WHEN status = 'failed' AND outcome = 'missed' THEN 'dead' ELSE status END = :kind
  AND status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')
  AND (updated_at, idempotency_key) < (:before, :key) AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT :limit;

-- troubled_runs_of_scope: as `troubled_runs`, for one scope
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE substr(schedule_id, 1, instr(schedule_id, '/')) = :scope
  AND CASE WHEN status = 'failed' AND outcome = 'missed' THEN 'dead' ELSE status END = :kind
  AND status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')
  AND (updated_at, idempotency_key) < (:before, :key) AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY updated_at DESC, idempotency_key DESC
LIMIT :limit;

-- running: runs that are accepted and have not ended, the oldest attempt first
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE status IN ('enqueued', 'started') AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY sent_at, idempotency_key
LIMIT :limit;

-- outcome_counts: how many periods ended in which way, by the time at which they were due
SELECT (minute * 60 - :first) / :step * :step + :first AS start, status, reason, sum(count)
FROM outcome_minutes
WHERE scope = :scope AND minute >= :first / 60 AND minute < :last / 60
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;

-- count_outcome: add to a counter of outcomes
INSERT INTO outcome_minutes (scope, minute, status, reason, count) VALUES (:scope, :minute, :status, :reason, :count)
ON CONFLICT (scope, minute, status, reason) DO UPDATE SET count = count + excluded.count;

-- write_last_state: how the last period of a schedule ended
UPDATE schedules SET last_state = :last WHERE schedule_id = :schedule_id AND last_state IS NOT :last;

-- troubled_schedules: a page of identities of schedules whose last period ended in a state
SELECT schedule_id FROM schedules
WHERE last_state = :last AND last_state <> 'success' AND NOT deleted
  AND schedule_id > :after AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY schedule_id
LIMIT :limit;

-- paused_schedules: a page of identities of paused schedules
SELECT schedule_id FROM schedules
WHERE paused AND NOT deleted AND schedule_id > :after AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY schedule_id
LIMIT :limit;

-- pauses: the first paused schedules, each with the last action that changed it
SELECT p.schedule_id, a.number, a.action, a.at, a.until, a.actor, a.note
FROM (
    SELECT schedule_id FROM schedules
    WHERE paused AND NOT deleted AND schedule_id >= :prefix AND schedule_id < :beyond
    ORDER BY schedule_id
    LIMIT :limit
) AS p
LEFT JOIN schedule_actions a ON a.number = (
    SELECT max(number) FROM schedule_actions
    WHERE schedule_id = p.schedule_id AND action IN ('paused', 'resumed', 'deleted'));

-- next_checks: schedules in the order of their next checks
SELECT schedule_id FROM schedules
WHERE wake IS NOT NULL AND wake <= :upto AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY wake, schedule_id
LIMIT :limit;

-- recent_runs: the newest scheduled runs of a schedule
SELECT idempotency_key, schedule_id, run_at, revision, fire_at, status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent, launched, failures, ends_by
FROM schedule_runs
WHERE schedule_id = :schedule_id AND trigger_id = ''
ORDER BY run_at DESC
LIMIT :limit;

-- recent_gaps: the newest gap records of a schedule
SELECT first, last, count, outcome, reason FROM schedule_gaps
WHERE schedule_id = :schedule_id
ORDER BY first DESC
LIMIT :limit;

-- latest_actions: the latest actions before a time, latest first
SELECT schedule_id, number, action, at, until, actor, note FROM schedule_actions
WHERE (at, schedule_id, number) < (:before, :name, :number) AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT :limit;

-- latest_revisions: the latest revisions before a time, latest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
FROM schedule_revisions
WHERE (at, schedule_id, number) < (:before, :name, :number) AND schedule_id >= :prefix AND schedule_id < :beyond
ORDER BY at DESC, schedule_id DESC, number DESC
LIMIT :limit;

-- requests_at: the requests for runs of a schedule at a time
SELECT schedule_id, number, action, at, until, actor, note FROM schedule_actions
WHERE at = :at AND schedule_id = :schedule_id AND action IN ('triggered', 'backfilled', 'redriven')
ORDER BY number
LIMIT :limit;

-- fine_outcome_counts: counters of minutes before a time that are not merged yet
SELECT scope, minute, status, reason, count FROM outcome_minutes WHERE minute < :upto AND minute % 15 <> 0 LIMIT :limit;

-- remove_outcome_count: remove a counter that was merged
DELETE FROM outcome_minutes WHERE scope = :scope AND minute = :minute AND status = :status AND reason = :reason;

-- remove_outcome_counts: remove counters of outcomes that are older than the horizon
DELETE FROM outcome_minutes WHERE (scope, minute, status, reason) IN (
    SELECT scope, minute, status, reason FROM outcome_minutes WHERE minute < :horizon / 60000 LIMIT :limit);

-- write_run_id: write the target's own run id
INSERT INTO run_ids (idempotency_key, run_id) VALUES (:key, :run_id)
ON CONFLICT (idempotency_key) DO UPDATE SET run_id = excluded.run_id;

-- run_id: the target's own run id of a run
SELECT run_id FROM run_ids WHERE idempotency_key = :key;

-- write_attempt: write the last result of an attempt
INSERT INTO run_attempts (idempotency_key, slot, number, at, duration, result, code, excerpt)
VALUES (:key, :slot, :number, :at, :duration, :result, :code, :excerpt)
ON CONFLICT (idempotency_key, slot) DO UPDATE SET
    number = excluded.number, at = excluded.at, duration = excluded.duration, result = excluded.result,
    code = excluded.code, excerpt = excluded.excerpt;

-- attempts: recorded attempts of a run, oldest first
SELECT number, at, duration, result, code, excerpt FROM run_attempts WHERE idempotency_key = :key ORDER BY number;

-- gaps: gap records of a schedule, oldest first
SELECT first, last, count, outcome, reason FROM schedule_gaps WHERE schedule_id = :schedule_id ORDER BY first;

-- revisions: revisions of a schedule, oldest first
SELECT schedule_id, schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
       source, source_dialect, source_timezone, payload, labels, webhook, number, at, actor, note, cursor
FROM schedule_revisions
WHERE schedule_id = :schedule_id
ORDER BY number;

-- insert_action: insert a recorded action
INSERT INTO schedule_actions (schedule_id, action, at, until, actor, note)
VALUES (:schedule_id, :kind, :at, :until, :actor, :note);

-- actions: recorded changes of a schedule, in the order in which they were written
SELECT action, at, until, actor, note FROM schedule_actions
WHERE schedule_id = :schedule_id AND action IN ('paused', 'resumed', 'deleted')
ORDER BY number;

-- horizon: time before which old records may have been removed
SELECT horizon FROM retention;

-- set_horizon: allow the removal of records older than this
UPDATE retention SET horizon = :horizon WHERE horizon < :horizon;

-- first_recorded: runs after a row, in the order of recording, each with whether it is old and has ended
SELECT rowid, created_at < :horizon, run_at * 1000 < :horizon AND updated_at < :horizon
       AND status NOT IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
FROM schedule_runs
WHERE rowid > :after
ORDER BY rowid
LIMIT :limit;

-- remove_runs: remove runs (the targets' own run ids and the attempts go with them)
DELETE FROM schedule_runs WHERE rowid IN (SELECT value FROM json_each(:rows));

-- remove_gaps: remove gap records that ended before the horizon
DELETE FROM schedule_gaps WHERE (schedule_id, first) IN (
    SELECT schedule_id, first FROM schedule_gaps WHERE last < :horizon / 1000 ORDER BY last LIMIT :limit);

-- tombstones: schedules that were deleted before the horizon and have no other records
SELECT schedule_id FROM schedules s
WHERE deleted
  AND NOT EXISTS (SELECT 1 FROM schedule_actions a WHERE a.schedule_id = s.schedule_id AND a.at >= :horizon)
  AND NOT EXISTS (SELECT 1 FROM schedule_revisions v WHERE v.schedule_id = s.schedule_id AND v.at >= :horizon)
  AND NOT EXISTS (SELECT 1 FROM schedule_gaps g WHERE g.schedule_id = s.schedule_id)
  AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_id = s.schedule_id)
LIMIT :limit;

-- remove_actions: remove the recorded actions of tombstones
DELETE FROM schedule_actions WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- remove_requests: remove recorded requests for runs that were made before the horizon
DELETE FROM schedule_actions WHERE number IN (
    SELECT number FROM schedule_actions WHERE action IN ('triggered', 'backfilled', 'redriven') AND at < :horizon ORDER BY at LIMIT :limit);

-- remove_revisions: remove the revisions of tombstones
DELETE FROM schedule_revisions WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- remove_schedules: remove the tombstones
DELETE FROM schedules WHERE schedule_id IN (SELECT value FROM json_each(:names));

-- grow_ring: reserve the numbers of new events
UPDATE event_ring SET newest = newest + :count;

-- write_event: append an event to the ring
INSERT INTO events (number, at, schedule_id, name, facts) VALUES (:number, :at, :schedule, :name, :facts);

-- trim_ring: remove the oldest events of the ring
DELETE FROM events WHERE number <= :upto;

-- ring: the newest number that was given, and until when processes listen
SELECT newest, until FROM event_ring;

-- read_events: events after a position of the ring
SELECT number, at, schedule_id, name, facts FROM events WHERE number > :after ORDER BY number LIMIT :limit;

-- listen_to_ring: register that a process listens; leave out a number if none did
UPDATE event_ring
SET newest = newest + (until NOT BETWEEN :now + 1 AND :now + :length), until = :now + :length;
