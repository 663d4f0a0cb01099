-- The tables of Kron in PostgreSQL.
--
-- run_at, cursor, reach, first, last, start_at and end_at are seconds from 1970-01-01T00:00:00Z, every other time is
-- milliseconds; the views at the end show them as timestamps. The code checks before it writes; the constraints and
-- triggers here hold whatever the code does. Texts that are compared are compared by their bytes.

CREATE FUNCTION kron_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint $$;

-- What a guard does. Its condition stands in WHEN, so that a lawful write does not pay for a call.
CREATE FUNCTION kron_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation'; END $$;

-- What each schedule is. A deleted one stays as a tombstone.
CREATE TABLE definitions (
    tenant_id   text   COLLATE "C" NOT NULL,
    schedule_id text   COLLATE "C" NOT NULL,
    digest      bigint NOT NULL,  -- of the columns that follow
    schedule    text   NOT NULL,  -- the canonical text,
    dialect     text   NOT NULL,  -- the dialect that it is in,
    timezone    text   NOT NULL,  -- and where it is read
    policy      text   NOT NULL,  -- JSON, every axis
    name        text   NOT NULL,
    description text   NOT NULL,
    command     text,             -- JSON
    target      text   NOT NULL,
    start_at    bigint,
    end_at      bigint,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id)
);

-- How far each schedule has come: narrow and hot, what a tick reads and rewrites.
CREATE TABLE due (
    tenant_id   text     COLLATE "C" NOT NULL,
    schedule_id text     COLLATE "C" NOT NULL,
    wake        bigint,             -- when to look at it again
    cursor      bigint   NOT NULL,  -- every period up to it is handled
    since       bigint   NOT NULL,  -- what fell due earlier is not this revision's business
    reach       bigint   NOT NULL,  -- the last period that has a row; beyond the cursor if some are handled ahead
    seen        bigint   NOT NULL,  -- the open runs and their tokens, folded into one number; 0 if there are none
    digest      bigint   NOT NULL,  -- of the definition: who has it need not read it again
    revision    integer  NOT NULL CHECK (revision >= 1),
    shard       smallint NOT NULL,
    paused      boolean  NOT NULL,
    deleted     boolean  NOT NULL,
    paused_until bigint  CHECK (paused_until IS NULL OR paused),  -- when its pause ends by itself
    PRIMARY KEY (schedule_id, tenant_id)  -- in this order two rows nearly always differ in the first column
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- In the order in which a tick asks. The shard stands in it, so that the rows of others are passed over without a look.
CREATE INDEX due_wake ON due (tenant_id, wake, schedule_id, shard);

CREATE TRIGGER due_stays BEFORE DELETE ON due
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a schedule leaves a tombstone');

CREATE TRIGGER due_goes_forward BEFORE UPDATE ON due FOR EACH ROW
WHEN (new.cursor < old.cursor OR new.revision < old.revision OR new.reach < old.reach
      OR new.digest <> old.digest AND new.revision = old.revision
      OR new.schedule_id <> old.schedule_id OR new.tenant_id <> old.tenant_id)
EXECUTE FUNCTION kron_refuse('a schedule only goes forward, and its definition changes with its revision only');

-- Every definition that there ever was.
CREATE TABLE schedule_revisions (
    tenant_id   text    COLLATE "C" NOT NULL,
    schedule_id text    COLLATE "C" NOT NULL,
    number      integer NOT NULL CHECK (number >= 1),
    schedule    text    NOT NULL,  -- as in definitions, and so on: a revision is the complete definition
    dialect     text    NOT NULL,
    timezone    text    NOT NULL,
    policy      text    NOT NULL,
    name        text    NOT NULL,
    description text    NOT NULL,
    command     text,
    target      text    NOT NULL,
    start_at    bigint,
    end_at      bigint,
    at          bigint  NOT NULL,
    who         text    NOT NULL,
    note        text    NOT NULL,
    cursor      bigint  NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id, number),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions
);

CREATE TRIGGER revisions_never_change BEFORE UPDATE OR DELETE ON schedule_revisions
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a revision never changes');

-- What was done besides: who paused, resumed or deleted it, when and why.
CREATE TABLE schedule_acts (
    tenant_id   text   COLLATE "C" NOT NULL,
    number      bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    schedule_id text   COLLATE "C" NOT NULL,
    deed        text   NOT NULL CHECK (deed IN ('paused', 'resumed', 'deleted')),
    at          bigint NOT NULL,
    until       bigint,
    who         text   NOT NULL,
    note        text   NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id, number),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES definitions
);

CREATE TRIGGER acts_never_change BEFORE UPDATE OR DELETE ON schedule_acts
FOR EACH ROW EXECUTE FUNCTION kron_refuse('an act never changes');

-- The ledger: one row a period, and one a manual run, written before anything is launched. A schedule's row in `due`
-- is locked by whoever writes here, so it need not be referenced.
CREATE TABLE runs (
    tenant_id       text     COLLATE "C" NOT NULL,
    schedule_id     text     COLLATE "C" NOT NULL,
    run_at          bigint   NOT NULL,
    trigger_id      text     COLLATE "C" NOT NULL,  -- empty for the calendar
    idempotency_key bytea    NOT NULL,
    fire_at         bigint   NOT NULL,
    lease_until     bigint,
    not_before      bigint   NOT NULL,
    created_at      bigint   NOT NULL,
    updated_at      bigint   NOT NULL,
    sent_at         bigint   NOT NULL,  -- when its last attempt was claimed; 0 if there was none
    revision        integer  NOT NULL,
    attempt         integer  NOT NULL CHECK (attempt >= 0),
    status          text     COLLATE "C" NOT NULL,
    outcome         text     COLLATE "C",
    reason          text     COLLATE "C",
    owner           text     COLLATE "C" NOT NULL,
    doubt           boolean  NOT NULL,
    alone           boolean  NOT NULL,  -- it was started under a policy that forbids overlap
    open            boolean  GENERATED ALWAYS AS (
        status IN ('pending', 'launching', 'retry', 'enqueued', 'started', 'waiting')) STORED,
    sole            boolean  GENERATED ALWAYS AS (  -- true or null: several nulls are not the same
        CASE WHEN alone AND status IN ('launching', 'retry', 'enqueued', 'started') THEN true END) STORED,
    PRIMARY KEY (schedule_id, run_at, trigger_id, tenant_id),
    CHECK (status IN ('launching', 'pending', 'retry', 'enqueued', 'started', 'waiting', 'success', 'failed',
                      'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')),
    CHECK (outcome IS NOT NULL OR status IN ('launching', 'pending', 'retry')),
    CHECK (outcome IN ('executed', 'skipped', 'missed', 'unschedulable')),
    CHECK (attempt > 0 OR status NOT IN ('launching', 'retry', 'enqueued', 'started', 'waiting'))
) PARTITION BY RANGE (run_at);

CREATE INDEX runs_key ON runs (idempotency_key);

-- Nothing ever fails for want of a partition; `maintain` makes the others ahead of time.
CREATE TABLE runs_default PARTITION OF runs DEFAULT WITH (fillfactor = 85);

-- The open runs of a schedule; under a policy that forbids overlap, one of them may be running. Each partition has this
-- index for itself, since a unique index of all would have to contain run_at. Across the border of two partitions the
-- compare-and-set of `due` is alone in keeping the rule.
CREATE UNIQUE INDEX runs_default_open ON runs_default (schedule_id, sole, tenant_id) WHERE open;

-- Forward only: what has ended stays, an outcome is given once, attempts grow, and only a new attempt goes back.
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

-- The keys of manual runs and backfills, for ever: the same request twice is one run, whatever its time.
CREATE TABLE requests (
    tenant_id       text   COLLATE "C" NOT NULL,
    idempotency_key bytea  NOT NULL,
    schedule_id     text   COLLATE "C" NOT NULL,
    run_at          bigint NOT NULL,
    PRIMARY KEY (tenant_id, idempotency_key)
);

CREATE TRIGGER requests_never_change BEFORE UPDATE OR DELETE ON requests
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a request never changes');

-- Periods that share one outcome without a row each.
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

CREATE TRIGGER gaps_never_change BEFORE UPDATE OR DELETE ON schedule_gaps
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a gap never changes');

CREATE FUNCTION kron_gaps_lie_apart() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM schedule_gaps g WHERE g.tenant_id = new.tenant_id AND g.schedule_id = new.schedule_id
                                               AND g.first <= new.last AND g.last >= new.first) THEN
        RAISE EXCEPTION 'two gaps have a period in common' USING ERRCODE = 'check_violation';
    END IF;
    RETURN new;
END $$;

CREATE TRIGGER gaps_lie_apart BEFORE INSERT ON schedule_gaps
FOR EACH ROW EXECUTE FUNCTION kron_gaps_lie_apart();

-- Who said when that he lives until when, and who looks at which shard. Nothing here decides who may write.
CREATE TABLE workers (
    tenant_id text   COLLATE "C" NOT NULL,
    owner     text   COLLATE "C" NOT NULL,
    said      bigint NOT NULL,
    until     bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner)
) WITH (fillfactor = 50);

CREATE TABLE shards (
    tenant_id text     COLLATE "C" NOT NULL,
    shard     smallint NOT NULL,
    owner     text     COLLATE "C" NOT NULL,  -- empty if it is free
    epoch     bigint   NOT NULL,              -- how often it has changed hands
    PRIMARY KEY (tenant_id, shard)
) WITH (fillfactor = 50);

CREATE TRIGGER shards_grow BEFORE UPDATE ON shards FOR EACH ROW
WHEN (new.epoch < old.epoch OR new.owner <> old.owner AND new.owner <> '' AND new.epoch = old.epoch)
EXECUTE FUNCTION kron_refuse('the epoch of a shard grows with every owner');
