-- Tables of the SQLite store, schema version 1.
--
-- run_at, cursor, first and last are seconds since 1970-01-01T00:00:00Z; all other times are milliseconds. The code
-- checks before it writes; the constraints and triggers here hold even if the code is wrong. A trigger names the
-- columns that it reads, so that writes to other columns do not pay for it.

PRAGMA application_id = 1265790830;  -- "Kron"
PRAGMA user_version = 1;

-- Definition and progress of each schedule. A deleted schedule stays as a tombstone.
CREATE TABLE schedules (
    schedule_id TEXT    NOT NULL PRIMARY KEY,
    shard       INTEGER NOT NULL,
    kind        TEXT    NOT NULL,  -- target kind: decides which workers can launch it
    revision    INTEGER NOT NULL CHECK (revision >= 1),
    schedule    TEXT    NOT NULL,  -- canonical text
    dialect     TEXT    NOT NULL,  -- dialect of the text
    timezone    TEXT    NOT NULL,  -- IANA time zone
    policy      TEXT    NOT NULL,  -- JSON, every axis; later axes only where they differ from their default
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    command     TEXT,              -- JSON
    target      TEXT    NOT NULL,
    start_at    INTEGER,           -- seconds, like end_at
    end_at      INTEGER,
    source      TEXT,              -- source text: as its author wrote it; NULL without one. No decision reads it
    source_dialect  TEXT CHECK ((source_dialect IS NULL) = (source IS NULL)),
    source_timezone TEXT CHECK (source_timezone IS NULL OR source IS NOT NULL),  -- NULL if the source text names one
    payload     TEXT,              -- JSON value for the target
    labels      TEXT,              -- JSON object of texts
    webhook     TEXT,              -- JSON: how a webhook is sent, where it differs from the default
    cursor      INTEGER NOT NULL,  -- every period up to it is handled
    since       INTEGER NOT NULL,  -- periods that were due earlier do not belong to this revision
    paused      INTEGER NOT NULL CHECK (paused IN (0, 1)),
    deleted     INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    wake        INTEGER,           -- next check
    next_at     INTEGER,           -- next period (seconds); NULL if none is planned. For readers only: no code uses it
    paused_until INTEGER CHECK (paused_until IS NULL OR paused),  -- automatic end of the pause
    owed        TEXT,              -- JSON: the periods before `since` that an edit left open; NULL: not edited
    aside       TEXT,              -- reason why it was set aside: it cannot be read or committed
    run_count   INTEGER NOT NULL CHECK (run_count >= 0),  -- scheduled runs that count for `max_runs`
    failure_count INTEGER NOT NULL CHECK (failure_count >= 0),  -- failed runs in a row, for `pause_on_failure`
    last_state  TEXT               -- how the last period ended; NULL before the first end. For readers only
) WITHOUT ROWID;

-- For the due query of a pass. The index contains the shard, so that rows of other shards are skipped without a read.
CREATE INDEX schedules_due ON schedules (wake, schedule_id, shard, kind) WHERE wake IS NOT NULL;

-- Labels of the schedules, in the order in which lists read them: `key=value`. Triggers keep them equal to `schedules`.
CREATE TABLE schedule_labels (
    label       TEXT NOT NULL,
    schedule_id TEXT NOT NULL REFERENCES schedules ON DELETE CASCADE,
    PRIMARY KEY (label, schedule_id)
) WITHOUT ROWID;

CREATE INDEX schedule_labels_schedule ON schedule_labels (schedule_id);

CREATE TRIGGER schedules_insert_labels AFTER INSERT ON schedules WHEN new.labels IS NOT NULL
BEGIN
    INSERT INTO schedule_labels (label, schedule_id)
    SELECT l.key || '=' || l.value, new.schedule_id FROM json_each(new.labels) l;
END;

CREATE TRIGGER schedules_update_labels AFTER UPDATE OF labels ON schedules WHEN new.labels IS NOT old.labels
BEGIN
    DELETE FROM schedule_labels WHERE schedule_id = new.schedule_id;
    INSERT INTO schedule_labels (label, schedule_id)
    SELECT l.key || '=' || l.value, new.schedule_id FROM json_each(new.labels) l WHERE new.labels IS NOT NULL;
END;

-- For lists of schedules that are paused, or whose last period did not end well.
CREATE INDEX schedules_paused ON schedules (schedule_id) WHERE paused AND NOT deleted;

CREATE INDEX schedules_troubled ON schedules (last_state, schedule_id) WHERE last_state <> 'success' AND NOT deleted;

-- Tombstones, for the retention.
CREATE INDEX schedules_deleted ON schedules (schedule_id) WHERE deleted;

-- Time (milliseconds) before which old records may have been removed. The triggers below reject the deletion of younger
-- records.
CREATE TABLE retention (one INTEGER PRIMARY KEY CHECK (one = 1), horizon INTEGER NOT NULL);

INSERT INTO retention (one, horizon) VALUES (1, 0);

CREATE TRIGGER retention_goes_forward BEFORE UPDATE ON retention WHEN new.horizon < old.horizon
BEGIN SELECT RAISE(ABORT, 'the horizon of the retention only goes forward'); END;

CREATE TRIGGER retention_stays BEFORE DELETE ON retention
BEGIN SELECT RAISE(ABORT, 'the horizon of the retention stays'); END;

CREATE TRIGGER schedules_stay BEFORE DELETE ON schedules WHEN NOT old.deleted
BEGIN SELECT RAISE(ABORT, 'a schedule leaves a tombstone'); END;

CREATE TRIGGER schedules_go_forward BEFORE UPDATE OF schedule_id, revision, cursor ON schedules
WHEN new.schedule_id <> old.schedule_id OR new.revision < old.revision OR new.cursor < old.cursor
BEGIN SELECT RAISE(ABORT, 'the revision and the cursor of a schedule only grow'); END;

CREATE TRIGGER schedules_count_forward BEFORE UPDATE OF run_count ON schedules
WHEN new.run_count < old.run_count AND NOT old.deleted
BEGIN SELECT RAISE(ABORT, 'the number of runs of a schedule only grows'); END;

CREATE TRIGGER schedules_are_revised BEFORE UPDATE OF
    schedule, dialect, timezone, policy, name, description, command, target, start_at, end_at,
    source, source_dialect, source_timezone, payload, labels, webhook ON schedules
WHEN new.revision = old.revision
 AND (new.schedule, new.dialect, new.timezone, new.policy, new.name, new.description, new.command, new.target,
      new.start_at, new.end_at, new.source, new.source_dialect, new.source_timezone,
      new.payload, new.labels, new.webhook)
     IS NOT
     (old.schedule, old.dialect, old.timezone, old.policy, old.name, old.description, old.command, old.target,
      old.start_at, old.end_at, old.source, old.source_dialect, old.source_timezone,
      old.payload, old.labels, old.webhook)
BEGIN SELECT RAISE(ABORT, 'a definition changes with its revision only'); END;

-- All revisions of all schedules.
CREATE TABLE schedule_revisions (
    schedule_id TEXT    NOT NULL REFERENCES schedules,
    number      INTEGER NOT NULL CHECK (number >= 1),
    schedule    TEXT    NOT NULL,  -- as in `schedules`; a revision is the complete definition
    dialect     TEXT    NOT NULL,
    timezone    TEXT    NOT NULL,
    policy      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    command     TEXT,
    target      TEXT    NOT NULL,
    start_at    INTEGER,
    end_at      INTEGER,
    source      TEXT,
    source_dialect  TEXT,
    source_timezone TEXT,
    payload     TEXT,
    labels      TEXT,
    webhook     TEXT,
    at          INTEGER NOT NULL,
    actor         TEXT    NOT NULL,
    note        TEXT    NOT NULL,
    cursor      INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, number)
) WITHOUT ROWID;

CREATE INDEX revisions_by_time ON schedule_revisions (at, schedule_id, number);

CREATE TRIGGER revisions_grow BEFORE INSERT ON schedule_revisions
WHEN EXISTS (SELECT 1 FROM schedule_revisions WHERE schedule_id = new.schedule_id AND number >= new.number)
BEGIN SELECT RAISE(ABORT, 'revisions are numbered upwards'); END;

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON schedule_revisions
BEGIN SELECT RAISE(ABORT, 'a revision never changes'); END;

CREATE TRIGGER revisions_stay BEFORE DELETE ON schedule_revisions
WHEN old.at >= (SELECT horizon FROM retention)
  OR NOT EXISTS (SELECT 1 FROM schedules WHERE schedule_id = old.schedule_id AND deleted)
BEGIN SELECT RAISE(ABORT, 'a revision stays'); END;

-- Recorded actions: who paused, resumed or deleted a schedule or requested runs of it, when and why. Requests are kept
-- for the length of the retention.
CREATE TABLE schedule_actions (
    number      INTEGER PRIMARY KEY,
    schedule_id TEXT    NOT NULL REFERENCES schedules,
    action        TEXT    NOT NULL CHECK (action IN ('paused', 'resumed', 'deleted', 'triggered', 'backfilled', 'redriven')),
    at          INTEGER NOT NULL,
    until       INTEGER,
    actor         TEXT    NOT NULL,
    note        TEXT    NOT NULL
);

-- Actions that changed a schedule, apart from the requests, of which there can be many.
CREATE INDEX actions_by_schedule ON schedule_actions (schedule_id, number)
WHERE action IN ('paused', 'resumed', 'deleted');

CREATE INDEX requests_by_time ON schedule_actions (at)
WHERE action IN ('triggered', 'backfilled', 'redriven');

CREATE INDEX actions_by_time ON schedule_actions (at, schedule_id, number);

CREATE TRIGGER actions_never_change BEFORE UPDATE ON schedule_actions
BEGIN SELECT RAISE(ABORT, 'an act never changes'); END;

CREATE TRIGGER actions_stay BEFORE DELETE ON schedule_actions
WHEN old.at >= (SELECT horizon FROM retention)
  OR (old.action IN ('paused', 'resumed', 'deleted')
      AND NOT EXISTS (SELECT 1 FROM schedules WHERE schedule_id = old.schedule_id AND deleted))
BEGIN SELECT RAISE(ABORT, 'an act stays'); END;

-- Run ledger: one row per period and one per manual run, written before the launch.
CREATE TABLE schedule_runs (
    idempotency_key TEXT    NOT NULL PRIMARY KEY,
    schedule_id     TEXT    NOT NULL REFERENCES schedules,
    run_at          INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    fire_at         INTEGER NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN (
        'pending', 'launching', 'retry', 'enqueued', 'started', 'waiting',
        'success', 'failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')),
    trigger_id      TEXT    NOT NULL,  -- empty for a scheduled period
    outcome         TEXT    CHECK (outcome IN ('executed', 'skipped', 'missed', 'unschedulable')),
    reason          TEXT,
    attempt         INTEGER NOT NULL CHECK (attempt >= 0),
    owner           TEXT    NOT NULL,
    lease_until     INTEGER,
    not_before      INTEGER NOT NULL,
    maybe_delivered           INTEGER NOT NULL CHECK (maybe_delivered IN (0, 1)),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    sent_at         INTEGER NOT NULL,  -- when the last attempt was claimed, or sent if its target accepted it; 0 without one
    unsent          INTEGER NOT NULL CHECK (unsent BETWEEN 0 AND attempt),  -- attempts that were withheld
    launched        INTEGER NOT NULL CHECK (launched BETWEEN 0 AND attempt),  -- attempts up to the last acceptance
    failures        INTEGER NOT NULL CHECK (failures >= 0),  -- executions that failed or timed out
    ends_by         INTEGER,           -- when the run times out; NULL without a time limit
    exclusive           INTEGER NOT NULL CHECK (exclusive IN (0, 1)),  -- started under a policy that forbids overlap
    CHECK (outcome IS NOT NULL OR status IN ('pending', 'launching', 'retry')),
    CHECK (attempt > 0 OR status NOT IN ('launching', 'retry', 'enqueued', 'started', 'waiting'))
);

-- A scheduled period is recorded once, whatever its key; the same holds for a trigger.
CREATE UNIQUE INDEX runs_by_time ON schedule_runs (schedule_id, run_at, trigger_id);

CREATE INDEX runs_open ON schedule_runs (schedule_id, run_at, trigger_id)
WHERE status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting');

CREATE UNIQUE INDEX runs_one_active ON schedule_runs (schedule_id)
WHERE exclusive AND status IN ('launching', 'retry', 'enqueued', 'started');

-- Forward only: an ended run never changes, an outcome is written once, attempts grow, and only a new attempt returns
-- to an earlier state.
CREATE TRIGGER runs_go_forward BEFORE UPDATE ON schedule_runs
WHEN old.status NOT IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
  OR new.attempt < old.attempt
  OR old.outcome IS NOT NULL AND new.outcome IS NOT old.outcome
  OR new.attempt = old.attempt AND CASE new.status
     WHEN 'pending' THEN old.status <> 'pending'
     WHEN 'launching' THEN old.status NOT IN ('pending', 'launching', 'retry')
     WHEN 'retry' THEN old.status NOT IN ('pending', 'launching', 'retry')
     WHEN 'enqueued' THEN old.status IN ('started', 'waiting')
     WHEN 'started' THEN old.status = 'waiting'
     ELSE 0 END
BEGIN SELECT RAISE(ABORT, 'a run only moves forward'); END;

CREATE TRIGGER runs_stay_themselves BEFORE UPDATE OF
    idempotency_key, schedule_id, run_at, trigger_id, revision, fire_at, created_at ON schedule_runs
WHEN (new.idempotency_key, new.schedule_id, new.run_at, new.trigger_id, new.revision, new.fire_at, new.created_at)
     IS NOT
     (old.idempotency_key, old.schedule_id, old.run_at, old.trigger_id, old.revision, old.fire_at, old.created_at)
BEGIN SELECT RAISE(ABORT, 'a run stays the run of its period'); END;

CREATE TRIGGER runs_end_first BEFORE DELETE ON schedule_runs
WHEN old.status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
BEGIN SELECT RAISE(ABORT, 'an open run stays'); END;

CREATE TRIGGER runs_outside_of_gaps BEFORE INSERT ON schedule_runs
WHEN new.trigger_id = '' AND EXISTS (
    SELECT 1 FROM schedule_gaps
    WHERE schedule_id = new.schedule_id AND first <= new.run_at AND last >= new.run_at)
BEGIN SELECT RAISE(ABORT, 'the period lies in a gap'); END;

-- Runs that did not end well, in the order of their end: of all schedules, and of a scope (the part of an identity up to
-- the first slash). A dead letter could not be launched.
CREATE INDEX runs_troubled ON schedule_runs (
    CASE WHEN status = 'failed' AND outcome = 'missed' THEN 'dead' ELSE status END, updated_at, idempotency_key)
WHERE status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable');

CREATE INDEX runs_troubled_by_scope ON schedule_runs (
    substr(schedule_id, 1, instr(schedule_id, '/')),
    CASE WHEN status = 'failed' AND outcome = 'missed' THEN 'dead' ELSE status END, updated_at, idempotency_key)
WHERE status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable');

-- Runs that their targets have accepted and that have not ended.
CREATE INDEX runs_running ON schedule_runs (sent_at, idempotency_key) WHERE status IN ('enqueued', 'started');

-- How many periods ended in which way, by the minute in which they were due, for all schedules (scope '') and for each
-- scope. Written with the ends that are counted. Old minutes are merged to quarters of an hour.
CREATE TABLE outcome_minutes (
    scope  TEXT    NOT NULL,
    minute INTEGER NOT NULL,  -- minutes since 1970
    status TEXT    NOT NULL,
    reason TEXT    NOT NULL,  -- empty without one
    count  INTEGER NOT NULL CHECK (count > 0),
    PRIMARY KEY (scope, minute, status, reason)
) WITHOUT ROWID;

CREATE INDEX outcome_minutes_fine ON outcome_minutes (minute) WHERE minute % 15 <> 0;

CREATE INDEX outcome_minutes_minute ON outcome_minutes (minute);

-- The newest events, for people who watch. Written only while a process listens: until `until` (milliseconds).
CREATE TABLE event_ring (
    newest INTEGER NOT NULL CHECK (newest >= 0),  -- number of the newest event
    until  INTEGER NOT NULL
);

INSERT INTO event_ring VALUES (0, 0);

CREATE TABLE events (
    number      INTEGER NOT NULL PRIMARY KEY,
    at          INTEGER NOT NULL,
    schedule_id TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    facts       TEXT    NOT NULL  -- JSON
);

-- How many runs are due in each minute of a coming hour, for all schedules (scope '') and for each scope. A worker counts
-- them again and again; nothing depends on them.
CREATE TABLE load_hours (
    scope      TEXT    NOT NULL,
    hour       INTEGER NOT NULL,  -- hours since 1970
    counts     TEXT    NOT NULL,  -- 60 numbers
    kinds      TEXT    NOT NULL,  -- JSON: schedule texts with most runs, each with its busiest minute and its runs
    written_at INTEGER NOT NULL,
    PRIMARY KEY (scope, hour)
) WITHOUT ROWID;

CREATE INDEX load_hours_written ON load_hours (written_at);

-- Calendar facts of all schedules (scope '') and of each scope: local hours by zone, and the coming runs of schedules that
-- run at most monthly. Written by the same pass as the load.
CREATE TABLE calendar_facts (
    scope      TEXT    NOT NULL PRIMARY KEY,
    facts      TEXT    NOT NULL,  -- JSON
    written_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX calendar_facts_written ON calendar_facts (written_at);

-- Targets' own run ids, where a target gives one.
CREATE TABLE run_ids (
    idempotency_key TEXT NOT NULL PRIMARY KEY REFERENCES schedule_runs ON DELETE CASCADE,
    run_id          TEXT NOT NULL CHECK (run_id <> '')
) WITHOUT ROWID;

-- Attempts that did not succeed at once, at most 50 for each run: attempt 51 takes the slot of attempt 1.
CREATE TABLE run_attempts (
    idempotency_key TEXT    NOT NULL REFERENCES schedule_runs ON DELETE CASCADE,
    slot            INTEGER NOT NULL CHECK (slot = (number - 1) % 50),
    number          INTEGER NOT NULL CHECK (number >= 1),
    at              INTEGER NOT NULL,  -- when the attempt was sent or claimed
    duration        INTEGER NOT NULL CHECK (duration >= 0),  -- milliseconds until the result was known
    result          TEXT    NOT NULL CHECK (result IN (
        'ok', 'rejected', 'retryable', 'unknown', 'unsent', 'success', 'failed', 'lost')),
    code            INTEGER,  -- HTTP status or exit status
    excerpt         TEXT    NOT NULL CHECK (length(excerpt) <= 200),
    PRIMARY KEY (idempotency_key, slot)
) WITHOUT ROWID;

CREATE TRIGGER attempts_go_forward BEFORE UPDATE ON run_attempts
WHEN new.number < old.number OR new.idempotency_key <> old.idempotency_key OR new.slot <> old.slot
BEGIN SELECT RAISE(ABORT, 'an attempt is replaced by a later result only'); END;

-- The ledger for readers of the file: times in RFC 3339, UTC.
CREATE VIEW ledger AS
SELECT schedule_id,
       strftime('%Y-%m-%dT%H:%M:%SZ', run_at, 'unixepoch') AS period_id,
       trigger_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', fire_at / 1000.0, 'unixepoch') AS fire_at,
       status, outcome, reason, attempt, owner,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at,
       idempotency_key
FROM schedule_runs;

-- Gap records: many periods with the same outcome and reason in one row.
CREATE TABLE schedule_gaps (
    schedule_id TEXT    NOT NULL REFERENCES schedules,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL CHECK (last >= first),
    count       INTEGER NOT NULL CHECK (count BETWEEN 1 AND last - first + 1),
    outcome     TEXT    NOT NULL CHECK (outcome IN ('skipped', 'missed', 'unschedulable')),
    reason      TEXT    NOT NULL,
    PRIMARY KEY (schedule_id, first)
) WITHOUT ROWID;

CREATE TRIGGER gaps_lie_apart BEFORE INSERT ON schedule_gaps
WHEN EXISTS (
    SELECT 1 FROM schedule_gaps WHERE schedule_id = new.schedule_id AND first <= new.last AND last >= new.first)
BEGIN SELECT RAISE(ABORT, 'two gaps have a period in common'); END;

CREATE TRIGGER gaps_never_change BEFORE UPDATE ON schedule_gaps
BEGIN SELECT RAISE(ABORT, 'a gap never changes'); END;

CREATE INDEX gaps_by_end ON schedule_gaps (last);

CREATE TRIGGER gaps_stay BEFORE DELETE ON schedule_gaps WHEN old.last * 1000 >= (SELECT horizon FROM retention)
BEGIN SELECT RAISE(ABORT, 'a gap stays'); END;

-- Workers: start of the uninterrupted lease, last renewal, end of the lease, and the target kinds that the worker can
-- launch (JSON). Leases do not decide who may write.
CREATE TABLE workers (
    owner  TEXT    NOT NULL PRIMARY KEY,
    joined INTEGER NOT NULL,
    said   INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    kinds  TEXT    NOT NULL,
    tz     TEXT    NOT NULL  -- version of its tz database
) WITHOUT ROWID;

-- Target kinds: last lease renewal of a worker that can launch the kind, end of that lease, and the last downtime. A
-- period that was due in the downtime can be missed; any other period is only late.
CREATE TABLE kinds (
    kind      TEXT    NOT NULL PRIMARY KEY,
    said      INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    down_from INTEGER NOT NULL,
    up_since  INTEGER NOT NULL
) WITHOUT ROWID;

-- Views for other programs: columns, meanings and statuses of the service specification, times in RFC 3339, UTC. They
-- equal the views `schedules` and `schedule_runs` in PostgreSQL. A workflow name that is not ASCII is shown
-- percent-encoded, as in the target.
CREATE VIEW service_schedules AS
SELECT schedule_id,
       CASE WHEN part GLOB '*%[89A-Fa-f]*' THEN part
            ELSE json_extract('"' || replace(part, '%', '\u00') || '"', '$') END AS workflow_id,
       CASE WHEN workflow AND instr(target, 'version=')
            THEN CAST(substr(target, instr(target, 'version=') + 8) AS INTEGER) END AS version,
       CASE WHEN holder GLOB '*%[89A-Fa-f]*' THEN holder
            ELSE json_extract('"' || replace(replace(holder, '+', ' '), '%', '\u00') || '"', '$') END AS user_id,
       coalesce(source, schedule) AS cron_expr,
       timezone,
       strftime('%Y-%m-%dT%H:%M:%SZ', start_at, 'unixepoch') AS start_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', end_at, 'unixepoch') AS end_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', next_at, 'unixepoch') AS next_run_at,
       paused,
       json_extract(policy, '$.jitter') / 1000000 AS jitter_ms,
       json_extract(policy, '$.overlap') AS overlap_policy,
       CASE json_extract(policy, '$.catchup') WHEN 'all' THEN 'fire_immediately'
            ELSE json_extract(policy, '$.catchup') END AS catchup_policy,
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', max(v.at) / 1000.0, 'unixepoch')
        FROM schedule_revisions v WHERE v.schedule_id = s.schedule_id) AS updated_at,
       target,
       name,
       description,
       coalesce(source_dialect, dialect) AS dialect,
       schedule AS canonical,
       payload,
       labels,
       revision,
       strftime('%Y-%m-%dT%H:%M:%SZ', cursor, 'unixepoch') AS handled_until,
       strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch') AS paused_until,
       deleted
FROM (SELECT *,
             target GLOB 'workflow:*' AS workflow,
             CASE WHEN target GLOB 'workflow:*' THEN substr(target, 10, instr(target || '?', '?') - 10) END AS part,
             CASE WHEN target GLOB 'workflow:*' AND instr(target, 'user=')
                  THEN substr(substr(target, instr(target, 'user=') + 5), 1,
                              instr(substr(target, instr(target, 'user=') + 5) || '&', '&') - 1) END AS holder
      FROM schedules) s;

CREATE VIEW service_schedule_runs AS
SELECT idempotency_key,
       schedule_id,
       strftime('%Y-%m-%dT%H:%M:%SZ', run_at, 'unixepoch') AS run_at,
       CASE WHEN status IN ('success', 'started') THEN upper(status)
            WHEN status IN ('pending', 'launching', 'retry', 'enqueued') THEN 'ENQUEUED'
            WHEN status = 'waiting' THEN 'STARTED'
            WHEN status IN ('skipped', 'missed', 'unschedulable') THEN 'SKIPPED'
            ELSE 'FAILED' END AS status,
       run_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at,
       status AS state,
       outcome,
       reason,
       trigger_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', fire_at / 1000.0, 'unixepoch') AS fire_at,
       revision,
       attempt,
       owner,
       strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1000.0, 'unixepoch') AS lease_until,
       CASE WHEN outcome = 'executed' AND status NOT IN ('launching', 'retry', 'unknown')
                 AND reason IS NOT 'launch_failed' AND sent_at > 0
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', sent_at / 1000.0, 'unixepoch') END AS started_at,
       CASE WHEN status NOT IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') END AS finished_at
FROM schedule_runs LEFT JOIN run_ids USING (idempotency_key);
