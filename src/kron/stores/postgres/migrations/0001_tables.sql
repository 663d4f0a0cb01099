-- Tables of the PostgreSQL store, all in one schema: `kron`, unless the store URL has `?schema=`. The script runs with
-- that schema as its search_path and never names it; functions keep it (SET search_path FROM CURRENT).
--
-- run_at, cursor, reach, first, last, start_at and end_at are seconds since 1970-01-01T00:00:00Z; all other times are
-- milliseconds. The views show timestamps. The code checks before it writes; the constraints and triggers here hold
-- even if the code is wrong. Texts that are compared are compared bytewise.

CREATE FUNCTION kron_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint $$;

-- Function of the guard triggers. The condition is in the trigger's WHEN, so that a valid write does not pay for a
-- call.
CREATE FUNCTION kron_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation'; END $$;

-- Scope of a schedule: its identity up to the first slash, with it; empty without a slash. Indexes that are ordered by
-- time contain it, so that a small tenant does not read the rows of all others. It is a column, and not an expression of
-- these indexes: under row-level security an index answers only conditions whose functions are leakproof.
CREATE FUNCTION kron_scope(schedule_id text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT left(schedule_id, strpos(schedule_id, '/')) $$;

-- Definition of each schedule. A deleted schedule stays as a tombstone.
CREATE TABLE definitions (
    tenant_id   text   COLLATE "C" NOT NULL,
    schedule_id text   COLLATE "C" NOT NULL,
    digest      bigint NOT NULL,  -- digest of the following columns
    schedule    text   NOT NULL,  -- canonical text
    dialect     text   NOT NULL,  -- dialect of the text
    timezone    text   NOT NULL,  -- IANA time zone
    policy      text   NOT NULL,  -- JSON, every axis; later axes only where they differ from their default
    name        text   NOT NULL,
    description text   NOT NULL,
    command     text,             -- JSON
    target      text   NOT NULL,
    start_at    bigint,
    end_at      bigint,
    source      text,             -- source text: as its author wrote it; NULL without one. No decision reads it
    source_dialect  text CHECK ((source_dialect IS NULL) = (source IS NULL)),
    source_timezone text CHECK (source_timezone IS NULL OR source IS NOT NULL),  -- NULL if the source text names one
    payload     text,             -- JSON value for the target
    labels      text,             -- JSON object of texts
    webhook     text,             -- JSON: how a webhook is sent, where it differs from the default
    updated_at  bigint NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id)
);

-- Labels of the schedules, in the order in which lists read them: `key=value`. A trigger keeps them equal to the
-- definitions.
CREATE TABLE schedule_labels (
    tenant_id   text COLLATE "C" NOT NULL,
    label       text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, label, schedule_id),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions ON DELETE CASCADE
);

CREATE INDEX schedule_labels_schedule ON schedule_labels (tenant_id, schedule_id);

CREATE FUNCTION kron_write_labels() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF tg_op = 'UPDATE' THEN
        DELETE FROM schedule_labels WHERE tenant_id = new.tenant_id AND schedule_id = new.schedule_id;
    END IF;
    INSERT INTO schedule_labels (tenant_id, label, schedule_id)
    SELECT new.tenant_id, l.key || '=' || l.value, new.schedule_id FROM json_each_text(new.labels::json) AS l;
    RETURN NULL;
END $$;

CREATE TRIGGER definitions_insert_labels AFTER INSERT ON definitions FOR EACH ROW WHEN (new.labels IS NOT NULL)
EXECUTE FUNCTION kron_write_labels();

CREATE TRIGGER definitions_update_labels AFTER UPDATE ON definitions FOR EACH ROW
WHEN (new.labels IS DISTINCT FROM old.labels) EXECUTE FUNCTION kron_write_labels();

-- Progress of each schedule: a narrow, hot table, which every pass of a worker reads and rewrites.
CREATE TABLE schedule_state (
    tenant_id   text     COLLATE "C" NOT NULL,
    schedule_id text     COLLATE "C" NOT NULL,
    wake        bigint,             -- next check
    next_at     bigint,             -- next period (seconds); NULL if none is planned. For readers only: no code uses it
    cursor      bigint   NOT NULL,  -- every period up to it is handled
    since       bigint   NOT NULL,  -- periods that were due earlier do not belong to this revision
    reach       bigint   NOT NULL,  -- last period that has a row; beyond the cursor if periods were prefetched
    open_runs_digest        bigint   NOT NULL,  -- digest of the open runs and their fencing tokens; 0 without open runs
    digest      bigint   NOT NULL,  -- digest of the definition, for the definition cache of workers
    revision    integer  NOT NULL CHECK (revision >= 1),
    shard       smallint NOT NULL,
    paused      boolean  NOT NULL,
    deleted     boolean  NOT NULL,
    paused_until bigint  CHECK (paused_until IS NULL OR paused),  -- automatic end of the pause
    owed        text,               -- JSON: the periods before `since` that an edit left open; NULL: not edited
    kind        text     COLLATE "C" NOT NULL,  -- target kind: decides which workers can launch it
    aside       text,               -- reason why it was set aside: it cannot be read or committed
    run_count   integer  NOT NULL CHECK (run_count >= 0),  -- scheduled runs that count for `max_runs`
    failure_count integer NOT NULL CHECK (failure_count >= 0),  -- failed runs in a row, for `pause_on_failure`
    last_state  text     COLLATE "C",  -- how the last period ended; NULL before the first end. For readers only
    PRIMARY KEY (schedule_id, tenant_id)  -- in this order two rows almost always differ in the first column
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- In the order of the due query. The index contains the shard, so that rows of other shards are skipped without a read.
CREATE INDEX schedule_state_wake ON schedule_state (tenant_id, kind, wake, schedule_id, shard);

-- For lists of schedules that are paused, or whose last period did not end well.
CREATE INDEX schedule_state_paused ON schedule_state (tenant_id, schedule_id) WHERE paused AND NOT deleted;

CREATE INDEX schedule_state_troubled ON schedule_state (tenant_id, last_state, schedule_id)
WHERE last_state <> 'success' AND NOT deleted;

-- Tombstones, for the retention.
CREATE INDEX schedule_state_deleted ON schedule_state (tenant_id, schedule_id) WHERE deleted;

CREATE TRIGGER schedule_state_stays BEFORE DELETE ON schedule_state FOR EACH ROW WHEN (NOT old.deleted OR old.open_runs_digest <> 0)
EXECUTE FUNCTION kron_refuse('a schedule leaves a tombstone');

-- AFTER triggers: a BEFORE UPDATE guard would lock each row a second time, and an AFTER guard rejects as well.
CREATE TRIGGER schedule_state_goes_forward AFTER UPDATE ON schedule_state FOR EACH ROW
WHEN (new.cursor < old.cursor OR new.revision < old.revision OR new.reach < old.reach
      OR new.digest <> old.digest AND new.revision = old.revision
      OR new.run_count < old.run_count AND NOT old.deleted
      OR new.schedule_id <> old.schedule_id OR new.tenant_id <> old.tenant_id)
EXECUTE FUNCTION kron_refuse('a schedule only goes forward, and its definition changes with its revision only');

-- Time (milliseconds) before which old records of a tenant may have been removed. The guards below reject the deletion
-- of younger records for every role.
CREATE TABLE retention (
    tenant_id text   COLLATE "C" NOT NULL PRIMARY KEY,
    horizon   bigint NOT NULL
);

CREATE TRIGGER retention_goes_forward BEFORE UPDATE ON retention FOR EACH ROW WHEN (new.horizon < old.horizon)
EXECUTE FUNCTION kron_refuse('the horizon of the retention only goes forward');

-- Allow the deletion of a row whose time is before the horizon. Arguments: the column, and its unit in milliseconds.
CREATE FUNCTION kron_refuse_young() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF (to_jsonb(old) ->> tg_argv[1])::bigint * tg_argv[2]::bigint
       < (SELECT r.horizon FROM retention r WHERE r.tenant_id = old.tenant_id) THEN
        RETURN old;
    END IF;
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation';
END $$;

-- Allow the deletion of an old row that belongs to a tombstone.
CREATE FUNCTION kron_refuse_living() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF old.at < (SELECT r.horizon FROM retention r WHERE r.tenant_id = old.tenant_id)
       AND EXISTS (SELECT FROM schedule_state d WHERE d.schedule_id = old.schedule_id AND d.tenant_id = old.tenant_id AND d.deleted)
    THEN
        RETURN old;
    END IF;
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation';
END $$;

-- All revisions of the schedules that have a row.
CREATE TABLE schedule_revisions (
    tenant_id   text    COLLATE "C" NOT NULL,
    schedule_id text    COLLATE "C" NOT NULL,
    number      integer NOT NULL CHECK (number >= 1),
    schedule    text    NOT NULL,  -- as in `definitions`; a revision is the complete definition
    dialect     text    NOT NULL,
    timezone    text    NOT NULL,
    policy      text    NOT NULL,
    name        text    NOT NULL,
    description text    NOT NULL,
    command     text,
    target      text    NOT NULL,
    start_at    bigint,
    end_at      bigint,
    source      text,
    source_dialect  text,
    source_timezone text,
    payload     text,
    labels      text,
    webhook     text,
    at          bigint  NOT NULL,
    actor         text    NOT NULL,
    note        text    NOT NULL,
    cursor      bigint  NOT NULL,
    scope       text    COLLATE "C" GENERATED ALWAYS AS (kron_scope(schedule_id)) STORED,
    PRIMARY KEY (tenant_id, schedule_id, number),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions
);

CREATE INDEX schedule_revisions_at ON schedule_revisions (tenant_id, at, schedule_id, number);

CREATE INDEX schedule_revisions_at_by_scope ON schedule_revisions (tenant_id, scope, at, schedule_id, number);

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON schedule_revisions
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a revision never changes');

CREATE TRIGGER revisions_stay BEFORE DELETE ON schedule_revisions
FOR EACH ROW EXECUTE FUNCTION kron_refuse_living('a revision stays');

-- Recorded actions: who paused, resumed or deleted a schedule or requested runs of it, when and why. Requests are kept
-- for the length of the retention.
CREATE TABLE schedule_actions (
    tenant_id   text   COLLATE "C" NOT NULL,
    number      bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    schedule_id text   COLLATE "C" NOT NULL,
    action        text   NOT NULL CHECK (action IN ('paused', 'resumed', 'deleted', 'triggered', 'backfilled', 'redriven')),
    at          bigint NOT NULL,
    until       bigint,
    actor         text   NOT NULL,
    note        text   NOT NULL,
    scope       text   COLLATE "C" GENERATED ALWAYS AS (kron_scope(schedule_id)) STORED,
    PRIMARY KEY (tenant_id, schedule_id, number),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions
);

-- Actions that changed a schedule, apart from the requests, of which there can be many.
CREATE INDEX schedule_actions_of_changes ON schedule_actions (tenant_id, schedule_id, number)
WHERE action IN ('paused', 'resumed', 'deleted');

CREATE INDEX schedule_actions_of_requests ON schedule_actions (tenant_id, at)
WHERE action IN ('triggered', 'backfilled', 'redriven');

CREATE INDEX schedule_actions_at ON schedule_actions (tenant_id, at, schedule_id, number);

CREATE INDEX schedule_actions_at_by_scope ON schedule_actions (tenant_id, scope, at, schedule_id, number);

CREATE TRIGGER actions_never_change BEFORE UPDATE ON schedule_actions
FOR EACH ROW EXECUTE FUNCTION kron_refuse('an act never changes');

CREATE TRIGGER actions_stay BEFORE DELETE ON schedule_actions
FOR EACH ROW WHEN (old.action IN ('paused', 'resumed', 'deleted')) EXECUTE FUNCTION kron_refuse_living('an act stays');

CREATE TRIGGER requests_for_runs_stay BEFORE DELETE ON schedule_actions
FOR EACH ROW WHEN (old.action IN ('triggered', 'backfilled', 'redriven'))
EXECUTE FUNCTION kron_refuse_young('a request stays', 'at', '1');

-- Run ledger: one row per period and one per manual run, written before the launch. Every writer locks the schedule's
-- row in `schedule_state`, so that a foreign key is not necessary.
CREATE TABLE runs (
    tenant_id       text     COLLATE "C" NOT NULL,
    schedule_id     text     COLLATE "C" NOT NULL,
    run_at          bigint   NOT NULL,
    trigger_id      text     COLLATE "C" NOT NULL,  -- empty for a scheduled period
    idempotency_key bytea    NOT NULL,
    fire_at         bigint   NOT NULL,
    lease_until     bigint,
    not_before      bigint   NOT NULL,
    created_at      bigint   NOT NULL,
    updated_at      bigint   NOT NULL,
    sent_at         bigint   NOT NULL,  -- when the last attempt was claimed, or sent if its target accepted it; 0 without one
    ends_by         bigint,             -- when the run times out; NULL without a time limit
    revision        integer  NOT NULL,
    attempt         integer  NOT NULL CHECK (attempt >= 0),
    unsent          integer  NOT NULL CHECK (unsent BETWEEN 0 AND attempt),  -- attempts that were withheld
    launched        integer  NOT NULL CHECK (launched BETWEEN 0 AND attempt),  -- attempts up to the last acceptance
    failures        integer  NOT NULL CHECK (failures >= 0),  -- executions that failed or timed out
    status          text     COLLATE "C" NOT NULL,
    outcome         text     COLLATE "C",
    reason          text     COLLATE "C",
    owner           text     COLLATE "C" NOT NULL,
    maybe_delivered           boolean  NOT NULL,
    exclusive           boolean  NOT NULL,  -- started under a policy that forbids overlap
    open            boolean  GENERATED ALWAYS AS (
        status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')) STORED,
    exclusive_active            boolean  GENERATED ALWAYS AS (  -- true or NULL: a unique index allows several NULLs
        CASE WHEN exclusive AND status IN ('launching', 'retry', 'enqueued', 'started') THEN true END) STORED,
    scope           text     COLLATE "C" GENERATED ALWAYS AS (kron_scope(schedule_id)) STORED,
    PRIMARY KEY (schedule_id, run_at, trigger_id, tenant_id),
    CHECK (status IN ('launching', 'pending', 'retry', 'enqueued', 'started', 'waiting', 'success', 'failed',
                      'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')),
    CHECK (outcome IS NOT NULL OR status IN ('launching', 'pending', 'retry')),
    CHECK (outcome IN ('executed', 'skipped', 'missed', 'unschedulable')),
    CHECK (attempt > 0 OR status NOT IN ('launching', 'retry', 'enqueued', 'started', 'waiting'))
) PARTITION BY RANGE (run_at);

CREATE INDEX runs_key ON runs (idempotency_key);

-- Kind of trouble of a run that did not end well: its status, or `dead` for a dead letter, which could not be launched.
CREATE FUNCTION kron_trouble(status text, outcome text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN status = 'failed' AND outcome = 'missed' THEN 'dead' ELSE status END $$;

-- Runs that did not end well, in the order of their end: of all schedules, and of a scope. Other runs do not pay.
CREATE INDEX runs_troubled ON runs (tenant_id, kron_trouble(status, outcome), updated_at DESC, idempotency_key DESC)
WHERE status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable');

CREATE INDEX runs_troubled_by_scope ON runs (
    tenant_id, scope, kron_trouble(status, outcome), updated_at DESC, idempotency_key DESC)
WHERE status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable');

-- Runs that their targets have accepted and that have not ended. A run whose target does not report its end is never
-- among them.
CREATE INDEX runs_running ON runs (tenant_id, sent_at, idempotency_key) WHERE status IN ('enqueued', 'started');

CREATE INDEX runs_running_by_scope ON runs (tenant_id, scope, sent_at, idempotency_key)
WHERE status IN ('enqueued', 'started');

-- Default partition, so that no write fails for lack of a partition. Workers create the other partitions ahead of time.
CREATE TABLE runs_default PARTITION OF runs DEFAULT WITH (fillfactor = 85);

-- Open runs of a schedule; under a policy that forbids overlap at most one of them can be active. Each partition has
-- its own index, because a unique index of the whole table would have to contain run_at. Across partitions only the
-- compare-and-set of `schedule_state` enforces the rule.
CREATE UNIQUE INDEX runs_default_open ON runs_default (schedule_id, exclusive_active, tenant_id) WHERE open;

-- Forward only: an ended run never changes, an outcome is written once, attempts grow, and only a new attempt returns
-- to an earlier state.
CREATE TRIGGER runs_go_forward BEFORE UPDATE ON runs FOR EACH ROW
WHEN (old.status NOT IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')
   OR new.attempt < old.attempt
   OR old.outcome IS NOT NULL AND new.outcome IS DISTINCT FROM old.outcome
   OR new.attempt = old.attempt AND CASE new.status
      WHEN 'pending' THEN old.status <> 'pending'
      WHEN 'launching' THEN old.status NOT IN ('pending', 'launching', 'retry')
      WHEN 'retry' THEN old.status NOT IN ('pending', 'launching', 'retry')
      WHEN 'enqueued' THEN old.status IN ('started', 'waiting')
      WHEN 'started' THEN old.status = 'waiting'
      ELSE false END)
EXECUTE FUNCTION kron_refuse('a run only moves forward');

CREATE TRIGGER runs_stay_themselves BEFORE UPDATE ON runs FOR EACH ROW
WHEN ((new.tenant_id, new.schedule_id, new.run_at, new.trigger_id, new.idempotency_key, new.revision, new.fire_at,
       new.created_at)
      IS DISTINCT FROM
      (old.tenant_id, old.schedule_id, old.run_at, old.trigger_id, old.idempotency_key, old.revision, old.fire_at,
       old.created_at))
EXECUTE FUNCTION kron_refuse('a run stays the run of its period');

-- Keys of manual runs and backfills, for the length of the retention: two identical requests are one run, whatever its
-- time.
CREATE TABLE requests (
    tenant_id       text   COLLATE "C" NOT NULL,
    idempotency_key bytea  NOT NULL,
    schedule_id     text   COLLATE "C" NOT NULL,
    run_at          bigint NOT NULL,
    at              bigint NOT NULL DEFAULT kron_now(),  -- time of the request
    PRIMARY KEY (tenant_id, idempotency_key)
);

CREATE INDEX requests_at ON requests USING brin (at);  -- rows are written in time order: almost no cost per write

CREATE TRIGGER requests_never_change BEFORE UPDATE ON requests
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a request never changes');

CREATE TRIGGER requests_stay BEFORE DELETE ON requests
FOR EACH ROW EXECUTE FUNCTION kron_refuse_young('a request stays', 'at', '1');

-- Targets' own run ids, where a target gives one. The id comes with the launch response and is written with it.
CREATE TABLE run_ids (
    tenant_id       text   COLLATE "C" NOT NULL,
    idempotency_key bytea  NOT NULL,
    schedule_id     text   COLLATE "C" NOT NULL,
    run_id          text   NOT NULL CHECK (run_id <> ''),
    at              bigint NOT NULL DEFAULT kron_now(),
    PRIMARY KEY (tenant_id, idempotency_key)
);

CREATE INDEX run_ids_at ON run_ids USING brin (at);

-- Attempts that did not succeed at once, at most 50 for each run: attempt 51 takes the slot of attempt 1, so that no
-- worker needs the right to delete. `run_at` is that of the run: it names the partition in which the retention looks.
CREATE TABLE run_attempts (
    tenant_id       text     COLLATE "C" NOT NULL,
    idempotency_key bytea    NOT NULL,
    slot            smallint NOT NULL CHECK (slot = (number - 1) % 50),
    schedule_id     text     COLLATE "C" NOT NULL,
    run_at          bigint   NOT NULL,
    number          integer  NOT NULL CHECK (number >= 1),
    at              bigint   NOT NULL,  -- when the attempt was sent or claimed
    duration        bigint   NOT NULL CHECK (duration >= 0),  -- milliseconds until the result was known
    result          text     COLLATE "C" NOT NULL CHECK (
        result IN ('ok', 'rejected', 'retryable', 'unknown', 'unsent', 'success', 'failed', 'lost')),
    code            integer,  -- HTTP status or exit status
    excerpt         text     NOT NULL CHECK (char_length(excerpt) <= 200),
    PRIMARY KEY (tenant_id, idempotency_key, slot)
);

CREATE INDEX run_attempts_at ON run_attempts USING brin (at);

CREATE TRIGGER attempts_go_forward BEFORE UPDATE ON run_attempts FOR EACH ROW
WHEN (new.number < old.number
      OR (new.tenant_id, new.idempotency_key, new.slot, new.schedule_id, new.run_at)
         IS DISTINCT FROM (old.tenant_id, old.idempotency_key, old.slot, old.schedule_id, old.run_at))
EXECUTE FUNCTION kron_refuse('an attempt is replaced by a later result only');

CREATE TRIGGER attempts_stay BEFORE DELETE ON run_attempts
FOR EACH ROW EXECUTE FUNCTION kron_refuse_young('an attempt stays', 'at', '1');

-- How many periods ended in which way, by the minute in which they were due, for all schedules (scope '') and for each
-- scope. Written with the ends that are counted. Transactions of different backends rarely share a slot, so that they
-- do not wait for one another; readers add up the slots. Old minutes are merged to quarters of an hour.
CREATE TABLE outcome_minutes (
    tenant_id text     COLLATE "C" NOT NULL,
    scope     text     COLLATE "C" NOT NULL,
    minute    integer  NOT NULL,  -- minutes since 1970
    status    text     COLLATE "C" NOT NULL,
    reason    text     COLLATE "C" NOT NULL,  -- empty without one
    slot      smallint NOT NULL,
    count     bigint   NOT NULL CHECK (count > 0),
    PRIMARY KEY (tenant_id, scope, minute, status, reason, slot)
) WITH (fillfactor = 50);

CREATE INDEX outcome_minutes_fine ON outcome_minutes (tenant_id, minute) WHERE minute % 15 <> 0 OR slot <> 0;

CREATE INDEX outcome_minutes_minute ON outcome_minutes USING brin (minute);  -- written almost in time order

-- The newest events, for people who watch. Written only while a process listens: until `until` (milliseconds). A crash
-- of the server empties the unlogged table; the numbers go on. One row has all events that a process wrote at once,
-- which costs little more than a row for one event.
CREATE TABLE event_ring (
    tenant_id text   COLLATE "C" NOT NULL PRIMARY KEY,
    newest    bigint NOT NULL CHECK (newest >= 0),  -- number of the newest event
    until     bigint NOT NULL
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE events (
    tenant_id text    COLLATE "C" NOT NULL,
    last      bigint  NOT NULL,  -- number of the last event of the batch
    count     integer NOT NULL CHECK (count > 0),
    batch     text    COLLATE "C" NOT NULL,  -- JSON: [[milliseconds, schedule, name, facts], ...]
    PRIMARY KEY (tenant_id, last)
);

-- How many runs are due in each minute of a coming hour, for all schedules (scope '') and for each scope. A worker counts
-- them again and again; nothing depends on them.
CREATE TABLE load_hours (
    tenant_id  text    COLLATE "C" NOT NULL,
    scope      text    COLLATE "C" NOT NULL,
    hour       integer NOT NULL,  -- hours since 1970
    counts     text    COLLATE "C" NOT NULL,  -- 60 numbers
    kinds      text    COLLATE "C" NOT NULL,  -- JSON: schedule texts with most runs, each with busiest minute and runs
    written_at bigint  NOT NULL,
    PRIMARY KEY (tenant_id, scope, hour)
);

CREATE INDEX load_hours_written ON load_hours (tenant_id, written_at);

-- Calendar facts of all schedules (scope '') and of each scope: local hours by zone, and the coming runs of schedules that
-- run at most monthly. Written by the same pass as the load.
CREATE TABLE calendar_facts (
    tenant_id  text   COLLATE "C" NOT NULL,
    scope      text   COLLATE "C" NOT NULL,
    facts      text   COLLATE "C" NOT NULL,  -- JSON
    written_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, scope)
);

CREATE INDEX calendar_facts_written ON calendar_facts (tenant_id, written_at);

-- Gap records: many periods with the same outcome and reason in one row.
CREATE TABLE schedule_gaps (
    tenant_id   text   COLLATE "C" NOT NULL,
    schedule_id text   COLLATE "C" NOT NULL,
    first       bigint NOT NULL,
    last        bigint NOT NULL CHECK (last >= first),
    count       bigint NOT NULL CHECK (count BETWEEN 1 AND last - first + 1),
    outcome     text   NOT NULL CHECK (outcome IN ('skipped', 'missed', 'unschedulable')),
    reason      text   NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id, first),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions
);

CREATE INDEX gaps_last ON schedule_gaps USING brin (last);

CREATE TRIGGER gaps_never_change BEFORE UPDATE ON schedule_gaps
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a gap never changes');

CREATE TRIGGER gaps_stay BEFORE DELETE ON schedule_gaps
FOR EACH ROW EXECUTE FUNCTION kron_refuse_young('a gap stays', 'last', '1000');

CREATE FUNCTION kron_gaps_lie_apart() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM schedule_gaps g WHERE g.tenant_id = new.tenant_id AND g.schedule_id = new.schedule_id
                                               AND g.first <= new.last AND g.last >= new.first) THEN
        RAISE EXCEPTION 'two gaps have a period in common' USING ERRCODE = 'check_violation';
    END IF;
    RETURN new;
END $$;

CREATE TRIGGER gaps_lie_apart BEFORE INSERT ON schedule_gaps
FOR EACH ROW EXECUTE FUNCTION kron_gaps_lie_apart();

-- Workers: start of the uninterrupted lease, last renewal, end of the lease, the target kinds that the worker can
-- launch, and the version of its tz database. Leases do not decide who may write.
CREATE TABLE workers (
    tenant_id text   COLLATE "C" NOT NULL,
    owner     text   COLLATE "C" NOT NULL,
    joined    bigint NOT NULL,
    said      bigint NOT NULL,
    until     bigint NOT NULL,
    kinds     text[] COLLATE "C" NOT NULL,
    tz        text   COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, owner)
) WITH (fillfactor = 50);

-- Target kinds: last lease renewal of a worker that can launch the kind, end of that lease, and the last downtime. A
-- period that was due in the downtime can be missed; any other period is only late.
CREATE TABLE kinds (
    tenant_id text   COLLATE "C" NOT NULL,
    kind      text   COLLATE "C" NOT NULL,
    said      bigint NOT NULL,
    until     bigint NOT NULL,
    down_from bigint NOT NULL,
    up_since  bigint NOT NULL,
    PRIMARY KEY (tenant_id, kind)
) WITH (fillfactor = 50);

-- Workflow store, for services that run on several hosts: one DAG per version of a workflow. The ids of a tenant's
-- workflows start with the tenant's name, like the identities of its schedules.
CREATE TABLE workflows (
    tenant_id   text    COLLATE "C" NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    version     integer NOT NULL CHECK (version >= 0),
    dag         text    NOT NULL,  -- byte for byte: the executor gets exactly what was deployed
    deployed_at bigint  NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, version)
);

-- Row-level security. Each tenant sees and writes only its own rows, even as the owner of the tables. The store sets
-- the tenant in every transaction; without it, no row is visible. Superusers and roles with BYPASSRLS are not
-- restricted: the service should not use such a role.
CREATE FUNCTION kron_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('app.tenant', true), '') $$;

-- A tenant of the service is a prefix of identities: `acme/`. In addition, each transaction of the service sets its
-- prefix, and sees and writes no other rows, even if the code is wrong:
--
--     app.tenant_prefix = 'acme/'   schedules whose identities start with it, and their records
--     app.tenant_prefix = '*'       all schedules: a worker, or an operator's command
--     not set                all schedules; none for the role of the API
CREATE FUNCTION kron_within() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT CASE coalesce(current_setting('app.tenant_prefix', true), '')
       WHEN '*' THEN NULL
       WHEN '' THEN CASE WHEN current_user = 'kron_api' THEN '/' END  -- no identity starts with this
       ELSE current_setting('app.tenant_prefix') END
$$;

-- Both functions are evaluated once per statement, not per row. For the two tables that every pass of a worker reads,
-- IS TRUE does not change what is visible, but no index can answer it. So the planner cannot start a batch with all
-- rows of a tenant, not even in a new week of the ledger that has no statistics yet (see queries.sql).
DO $$
DECLARE
    place text;
    own text := 'tenant_id = (SELECT kron_tenant())';
    whole text := '(SELECT kron_within()) IS NULL';
    named text;
BEGIN
    FOREACH place IN ARRAY ARRAY['definitions', 'schedule_labels', 'schedule_state', 'schedule_revisions', 'schedule_actions', 'runs', 'requests',
                                 'run_ids', 'run_attempts', 'outcome_minutes', 'load_hours', 'calendar_facts', 'schedule_gaps', 'workers', 'kinds', 'workflows',
                                 'retention', 'event_ring', 'events'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', place,
                       CASE WHEN place IN ('schedule_state', 'runs') THEN '(' || own || ') IS TRUE' ELSE own END, own);
        named := CASE place WHEN 'workflows' THEN 'workflow_id' ELSE 'schedule_id' END;
        EXECUTE format('CREATE POLICY within ON %I AS RESTRICTIVE USING (%s)', place,
                       CASE WHEN place IN ('workers', 'events') THEN whole  -- not visible to a tenant of the service
                            WHEN place IN ('kinds', 'retention', 'event_ring') THEN 'true'
                            WHEN place = 'outcome_minutes'  -- the counters of all schedules name no tenant
                            THEN format('%s OR scope IN ('''', (SELECT kron_within()))', whole)
                            WHEN place IN ('load_hours', 'calendar_facts')  -- those of all schedules have their texts and names
                            THEN format('%s OR scope = (SELECT kron_within())', whole)
                            ELSE format('%s OR starts_with(%I, (SELECT kron_within()))', whole, named) END);
    END LOOP;
END $$;

-- Pattern of a search inside names; the one that matches all of them if none is set.
CREATE FUNCTION kron_name_pattern() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(nullif(current_setting('app.name_pattern', true), ''), '%') $$;

-- Create the index for the search inside names, if an administrator created the extension pg_trgm: a database has it once,
-- for all its schemas, so Kron does not choose its place. Each run of `kron migrate` tries it. Returns whether the index exists.
--
-- Under row-level security an index answers only conditions whose functions are leakproof, and LIKE is not. The
-- first condition of row-level security is not restricted so: this table of names has the pattern in its policy. No index
-- of it has an order that the planner could prefer to the trigrams.
CREATE FUNCTION kron_make_name_index() RETURNS boolean LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE place text;
BEGIN
    IF to_regclass('schedule_names') IS NOT NULL THEN
        RETURN true;
    END IF;
    SELECT n.nspname INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
    IF place IS NULL THEN
        RETURN false;
    END IF;
    CREATE TABLE schedule_names (
        tenant_id   text COLLATE "C" NOT NULL,
        schedule_id text COLLATE "C" NOT NULL
    );
    LOCK TABLE definitions IN ACCESS EXCLUSIVE MODE;
    ALTER TABLE definitions NO FORCE ROW LEVEL SECURITY;  -- the owner reads the names of all tenants, once
    INSERT INTO schedule_names SELECT d.tenant_id, d.schedule_id FROM definitions d;
    ALTER TABLE definitions FORCE ROW LEVEL SECURITY;
    EXECUTE format('CREATE INDEX schedule_names_trigrams ON schedule_names USING gin (schedule_id %I.gin_trgm_ops)', place);
    CREATE INDEX schedule_names_name ON schedule_names USING hash (schedule_id);  -- for the removal
    ALTER TABLE schedule_names ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY tenant ON schedule_names
    USING (tenant_id = (SELECT kron_tenant())) WITH CHECK (tenant_id = (SELECT kron_tenant()));
    CREATE POLICY within ON schedule_names AS RESTRICTIVE  -- restrictive policies come first: only they may use any index
    USING (schedule_id LIKE (SELECT kron_name_pattern())
           AND ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within()))));
    CREATE TRIGGER definitions_insert_names AFTER INSERT ON definitions REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION kron_insert_names();
    CREATE TRIGGER definitions_delete_names AFTER DELETE ON definitions REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION kron_delete_names();
    RETURN true;
END $$;

CREATE FUNCTION kron_insert_names() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO schedule_names SELECT a.tenant_id, a.schedule_id FROM added a;
    RETURN NULL;
END $$;

CREATE FUNCTION kron_delete_names() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM schedule_names n USING removed r WHERE n.tenant_id = r.tenant_id AND n.schedule_id = r.schedule_id;
    RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION kron_make_name_index(), kron_insert_names(), kron_delete_names() FROM PUBLIC;

-- Query of an idle worker, as one statement that is its own transaction: it sets the tenant, then reads.
CREATE FUNCTION kron_poll(whose text, place text, wanted text[], held bigint[]) RETURNS TABLE (now bigint, wake bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('app.tenant', whose, true), set_config('app.tenant_prefix', place, true);
    RETURN QUERY SELECT kron_now(), (
        SELECT min(d.wake)
        FROM unnest(wanted) AS k (kind), LATERAL (
            SELECT u.wake FROM schedule_state u
            WHERE u.tenant_id = whose AND u.kind = k.kind AND u.wake IS NOT NULL AND u.shard = ANY (held)
            ORDER BY u.wake
            LIMIT 1) AS d);
END $$;

-- Views for other programs: names and meanings of the service specification, times as timestamps. A view shows only
-- what its reader may see.

-- Percent-decode a part of a target.
CREATE FUNCTION kron_unquoted(part text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT convert_from(convert_to(
    ('"' || replace(replace(part, '+', ' '), '%', '\u00') || '"')::jsonb #>> '{}', 'LATIN1'), 'UTF8')
$$;

-- `version` is the workflow version; NULL for other targets. `revision` counts the definitions of a schedule.
-- `next_run_at` is NULL while nothing is planned: for a paused, suspended or deleted schedule, and after the last
-- period.
CREATE VIEW schedules WITH (security_invoker = true) AS
SELECT d.tenant_id,
       d.schedule_id,
       kron_unquoted(substring(d.target FROM '^workflow:([^?]*)')) AS workflow_id,
       substring(d.target FROM '^workflow:.*[?&]version=([0-9]+)')::integer AS version,
       kron_unquoted(substring(d.target FROM '^workflow:.*[?&]user=([^&]*)')) AS user_id,
       coalesce(d.source, d.schedule) AS cron_expr,
       d.timezone,
       to_timestamp(d.start_at) AS start_at,
       to_timestamp(d.end_at) AS end_at,
       to_timestamp(u.next_at) AS next_run_at,
       u.paused,
       ((d.policy::jsonb ->> 'jitter')::numeric / 1000000)::bigint AS jitter_ms,
       d.policy::jsonb ->> 'overlap' AS overlap_policy,
       CASE d.policy::jsonb ->> 'catchup' WHEN 'all' THEN 'fire_immediately' ELSE d.policy::jsonb ->> 'catchup' END
           AS catchup_policy,
       to_timestamp(d.updated_at / 1000.0) AS updated_at,
       d.target,
       d.name,
       d.description,
       coalesce(d.source_dialect, d.dialect) AS dialect,
       d.schedule AS canonical,
       d.payload::json AS payload,
       d.labels::jsonb AS labels,
       u.revision,
       to_timestamp(u.cursor) AS handled_until,
       to_timestamp(u.paused_until / 1000.0) AS paused_until,
       u.deleted,
       u.run_count,
       u.failure_count
FROM definitions d JOIN schedule_state u USING (tenant_id, schedule_id);

CREATE VIEW schedule_runs WITH (security_invoker = true) AS
SELECT r.tenant_id,
       encode(r.idempotency_key, 'hex') AS idempotency_key,
       r.schedule_id,
       to_timestamp(r.run_at) AS run_at,
       CASE WHEN status IN ('success', 'started') THEN upper(status)
            WHEN status IN ('pending', 'launching', 'retry', 'enqueued') THEN 'ENQUEUED'
            WHEN status = 'waiting' THEN 'STARTED'
            WHEN status IN ('skipped', 'missed', 'unschedulable') THEN 'SKIPPED'
            ELSE 'FAILED' END AS status,
       i.run_id,
       to_timestamp(created_at / 1000.0) AS created_at,
       to_timestamp(updated_at / 1000.0) AS updated_at,
       r.status AS state,
       outcome,
       reason,
       trigger_id,
       to_timestamp(fire_at / 1000.0) AS fire_at,
       revision,
       attempt,
       owner,
       to_timestamp(lease_until / 1000.0) AS lease_until,
       CASE WHEN outcome = 'executed' AND r.status NOT IN ('launching', 'retry', 'unknown')
                 AND reason IS DISTINCT FROM 'launch_failed' AND sent_at > 0
            THEN to_timestamp(sent_at / 1000.0) END AS started_at,
       CASE WHEN NOT r.open THEN to_timestamp(updated_at / 1000.0) END AS finished_at
FROM runs r LEFT JOIN run_ids i USING (tenant_id, idempotency_key);

-- Partitions of the ledger: one week each, starting on a Monday, with the start (inclusive) and the end (exclusive) of
-- their periods in seconds.
CREATE VIEW kron_partitions AS
SELECT c.relname::text AS name, p.start, p.start + 7 * 86400 AS stop
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid,
     LATERAL (SELECT extract(epoch FROM to_date(substr(c.relname, 6), 'YYYYMMDD'))::bigint) AS p (start)
WHERE i.inhparent = 'runs'::regclass AND c.relname ~ '^runs_[0-9]{8}$';

-- Maintenance. Workers call the functions that have no table name among their arguments; these run with the owner's
-- privileges. The caller sets a short lock_timeout, because workers queue behind a waiting lock request. Partitions are
-- accessed directly and therefore for all tenants; the other tables for the tenant of the transaction.

-- Create the partition of the week that starts then, and move its rows out of the default partition. With more than
-- `most` such rows, do nothing and return NULL: the move holds a lock that every worker waits for.
CREATE FUNCTION kron_make_partition(start bigint, most bigint DEFAULT 10000000000) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    name text := 'runs_' || to_char(to_timestamp(start) AT TIME ZONE 'UTC', 'YYYYMMDD');
    stop bigint := start + 7 * 86400;
    columns text := 'tenant_id, schedule_id, run_at, trigger_id, idempotency_key, fire_at, lease_until, not_before, '
                    'created_at, updated_at, sent_at, revision, attempt, unsent, launched, failures, ends_by, status, outcome, reason, owner, '
                    'maybe_delivered, exclusive';
    strays bigint;
BEGIN
    IF (start - 4 * 86400) % (7 * 86400) <> 0 THEN
        RAISE EXCEPTION 'a week begins on a Monday, 00:00 UTC';
    END IF;
    SELECT count(*) INTO strays FROM (
        SELECT FROM runs_default d WHERE d.run_at >= start AND d.run_at < stop LIMIT most + 1) AS found;
    IF strays > most THEN
        RETURN NULL;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE runs INCLUDING GENERATED INCLUDING CONSTRAINTS) WITH (fillfactor = 85)', name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (schedule_id, exclusive_active, tenant_id) WHERE open', name || '_open', name);
    -- Lock the parent table, too: a statement that knows only the old partitions would look for the rows there.
    LOCK TABLE ONLY runs, ONLY runs_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM runs_default WHERE run_at >= $1 AND run_at < $2',
                   name, columns, columns) USING start, stop;
    DELETE FROM runs_default WHERE run_at >= start AND run_at < stop;
    EXECUTE format('ALTER TABLE runs ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, start, stop);
    RETURN name;
END $$;

-- Drop a partition, unless one of its runs is open or was written at or after `horizon` (milliseconds), such as a run
-- of a backfill. Returns whether it was dropped. During the check only writers of that week wait.
CREATE FUNCTION kron_drop_partition(name text, horizon bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE needed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM kron_partitions p WHERE p.name = kron_drop_partition.name) THEN
        RAISE EXCEPTION '% is not a partition of the ledger', name;
    END IF;
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE open OR updated_at >= $1)', name) INTO needed USING horizon;
    IF needed THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE runs DETACH PARTITION %I', name);
    EXECUTE format('DROP TABLE %I', name);
    RETURN true;
END $$;

-- Create the next missing partition: of this week, of the following weeks, and of weeks that have rows in the default
-- partition that are not older than `horizon` (milliseconds). Returns its name; NULL if there is none to create.
CREATE FUNCTION kron_make_next(ahead integer, most bigint, horizon bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    monday bigint := kron_now() / 1000 - (kron_now() / 1000 - 4 * 86400) % (7 * 86400);
    week bigint;
    name text;
BEGIN
    FOR week IN
        SELECT w.start FROM (
            SELECT monday + n * 7 * 86400 AS start FROM generate_series(0, least(ahead, 8)) AS n
            UNION
            SELECT d.run_at - (d.run_at - 4 * 86400) % (7 * 86400) FROM runs_default d
            WHERE d.run_at >= horizon / 1000 AND d.run_at < monday + 9 * 7 * 86400) AS w
        WHERE w.start NOT IN (SELECT p.start FROM kron_partitions p) ORDER BY w.start
    LOOP
        name := kron_make_partition(week, most);
        IF name IS NOT NULL THEN
            RETURN name;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Drop the first partition that ended before `horizon` (milliseconds) and is not needed. Returns its name; NULL if
-- there is none.
CREATE FUNCTION kron_drop_next(horizon bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE week text;
BEGIN
    PERFORM kron_keep_a_day(horizon);
    FOR week IN SELECT p.name FROM kron_partitions p WHERE p.stop <= horizon / 1000 ORDER BY p.start LOOP
        IF kron_drop_partition(week, horizon) THEN
            RETURN week;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Remove up to `most` old records of each kind, of the tenant of the transaction. Returns the number of removed
-- records.
CREATE FUNCTION kron_prune(horizon bigint, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    whose text := kron_tenant();
    gone text[];
    part bigint;
    removed bigint := 0;
BEGIN
    PERFORM kron_keep_a_day(horizon);
    INSERT INTO retention VALUES (whose, horizon)
    ON CONFLICT (tenant_id) DO UPDATE SET horizon = greatest(retention.horizon, excluded.horizon);
    DELETE FROM runs_default WHERE ctid = ANY (ARRAY(
        SELECT r.ctid FROM runs_default r
        WHERE NOT r.open AND r.run_at < kron_prune.horizon / 1000 AND r.updated_at < kron_prune.horizon LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM requests WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT r.ctid FROM requests r WHERE r.tenant_id = whose AND r.at < kron_prune.horizon LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM schedule_actions WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT a.ctid FROM schedule_actions a
        WHERE a.tenant_id = whose AND a.at < kron_prune.horizon AND a.action IN ('triggered', 'backfilled', 'redriven')
        LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM run_ids WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT r.ctid FROM run_ids r WHERE r.tenant_id = whose AND r.at < kron_prune.horizon LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM run_attempts WHERE tenant_id = whose AND ctid = ANY (ARRAY(  -- with their runs
        SELECT a.ctid FROM run_attempts a
        WHERE a.tenant_id = whose AND a.at < kron_prune.horizon
          AND NOT EXISTS (SELECT FROM runs r WHERE r.tenant_id = whose AND r.run_at = a.run_at
                                               AND r.idempotency_key = a.idempotency_key)
        LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM schedule_gaps WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT g.ctid FROM schedule_gaps g WHERE g.tenant_id = whose AND g.last < kron_prune.horizon / 1000 LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM outcome_minutes WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT o.ctid FROM outcome_minutes o
        WHERE o.tenant_id = whose AND o.minute < kron_prune.horizon / 60000 LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    gone := ARRAY(
        SELECT d.schedule_id FROM schedule_state d
        WHERE d.tenant_id = whose AND d.deleted AND d.open_runs_digest = 0
          AND NOT EXISTS (SELECT FROM schedule_actions a WHERE a.tenant_id = whose AND a.schedule_id = d.schedule_id
                                                        AND a.at >= kron_prune.horizon)
          AND NOT EXISTS (SELECT FROM schedule_revisions v WHERE v.tenant_id = whose AND v.schedule_id = d.schedule_id
                                                             AND v.at >= kron_prune.horizon)
          AND NOT EXISTS (SELECT FROM schedule_gaps g WHERE g.tenant_id = whose AND g.schedule_id = d.schedule_id)
          AND NOT EXISTS (SELECT FROM runs r WHERE r.tenant_id = whose AND r.schedule_id = d.schedule_id)
        ORDER BY d.schedule_id LIMIT most FOR UPDATE SKIP LOCKED);
    DELETE FROM schedule_actions WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM schedule_revisions WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM schedule_state WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM definitions WHERE tenant_id = whose AND schedule_id = ANY (gone);
    RETURN removed + coalesce(array_length(gone, 1), 0);
END $$;

-- Merge up to `most` counters of minutes before `upto` (minutes since 1970) to quarters of an hour. Returns how many.
CREATE FUNCTION kron_merge_outcomes(upto bigint, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    whose text := kron_tenant();
    merged bigint;
BEGIN
    WITH old AS (
        DELETE FROM outcome_minutes WHERE tenant_id = whose AND ctid = ANY (ARRAY(
            SELECT o.ctid FROM outcome_minutes o
            WHERE o.tenant_id = whose AND o.minute < upto AND (o.minute % 15 <> 0 OR o.slot <> 0) LIMIT most))
        RETURNING scope, minute - minute % 15 AS quarter, status, reason, count
    ), written AS (
        INSERT INTO outcome_minutes AS o (tenant_id, scope, minute, status, reason, slot, count)
        SELECT whose, scope, quarter, status, reason, 0, sum(count) FROM old GROUP BY scope, quarter, status, reason
        ON CONFLICT (tenant_id, scope, minute, status, reason, slot) DO UPDATE SET count = o.count + excluded.count
    )
    SELECT count(*) INTO merged FROM old;
    RETURN merged;
END $$;

-- Records of the last day stay, whatever retention a worker requests.
CREATE FUNCTION kron_keep_a_day(horizon bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF horizon > kron_now() - 86400000 THEN
        RAISE EXCEPTION 'the retention is one day or more' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION kron_make_partition(bigint, bigint), kron_drop_partition(text, bigint),
    kron_make_next(integer, bigint, bigint), kron_drop_next(bigint), kron_prune(bigint, integer),
    kron_merge_outcomes(bigint, integer) FROM PUBLIC;

-- Privileges. The operator creates the roles; the roles that exist should have these privileges. A worker and the API
-- write, but never alter a table or delete from the ledger; an auditor reads. Each run of `kron migrate` grants what is
-- missing, and `kron doctor` lists it.
CREATE VIEW kron_rights AS
WITH wanted (roles, rights, things) AS (VALUES
    ('{kron_api,kron_worker,kron_auditor}'::text[], '{SELECT}'::text[],
     '{definitions,schedule_names,schedule_labels,schedule_state,schedule_revisions,schedule_actions,runs,requests,run_ids,run_attempts,
       outcome_minutes,load_hours,calendar_facts,event_ring,events,schedule_gaps,workers,kinds,workflows,retention,kron_migrations,kron_partitions,kron_rights,schedules,schedule_runs}'::text[]),
    ('{kron_api,kron_worker}', '{INSERT,UPDATE}', '{definitions,schedule_state,runs,run_ids,run_attempts,outcome_minutes}'),
    ('{kron_api,kron_worker}', '{INSERT}', '{schedule_revisions,schedule_actions,requests,schedule_gaps}'),
    ('{kron_api,kron_worker}', '{INSERT,UPDATE,DELETE}', '{workers,kinds,load_hours,calendar_facts,event_ring,events}'),
    ('{kron_api}', '{INSERT,UPDATE}', '{workflows}'))
SELECT r.rolname::text AS role, n.nspname::text AS thing, 'USAGE' AS privilege, 'SCHEMA' AS kind,
       has_schema_privilege(r.oid, n.oid, 'USAGE') AS granted
FROM pg_roles r, pg_namespace n
WHERE r.rolname IN ('kron_api', 'kron_worker', 'kron_auditor')
  AND n.oid = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'schedule_state'::regclass)
UNION ALL
SELECT r.rolname, c.relname, p.privilege, 'TABLE', has_table_privilege(r.oid, c.oid, p.privilege)
FROM wanted w
CROSS JOIN unnest(w.rights) AS p (privilege)
JOIN pg_roles r ON r.rolname = ANY (w.roles)
JOIN pg_class c ON c.relname = ANY (w.things)
     AND c.relnamespace = (SELECT k.relnamespace FROM pg_class k WHERE k.oid = 'schedule_state'::regclass)
UNION ALL
SELECT r.rolname, f.oid::regprocedure::text, 'EXECUTE', 'FUNCTION', has_function_privilege(r.oid, f.oid, 'EXECUTE')
FROM pg_roles r, pg_proc f
WHERE r.rolname IN ('kron_api', 'kron_worker') AND f.proname IN ('kron_make_next', 'kron_drop_next', 'kron_prune', 'kron_merge_outcomes')
  AND f.pronamespace = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'schedule_state'::regclass);

CREATE FUNCTION kron_grant() RETURNS bigint LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    lacks record;
    given bigint := 0;
BEGIN
    FOR lacks IN SELECT * FROM kron_rights WHERE NOT granted LOOP
        EXECUTE format('GRANT %s ON %s %s TO %I', lacks.privilege, lacks.kind,
                       CASE lacks.kind WHEN 'FUNCTION' THEN lacks.thing ELSE quote_ident(lacks.thing) END, lacks.role);
        given := given + 1;
    END LOOP;
    RETURN given;
END $$;

REVOKE EXECUTE ON FUNCTION kron_grant() FROM PUBLIC;
