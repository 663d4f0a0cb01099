-- The tables of Kron in PostgreSQL, all in one schema: `kron`, unless the URL of the store says `?schema=`. The script is
-- run with that schema as its search_path, and never names it; functions keep it (SET search_path FROM CURRENT).
--
-- run_at, cursor, reach, first, last, start_at and end_at are seconds from 1970-01-01T00:00:00Z, every other time is
-- milliseconds; the views show them as timestamps. The code checks before it writes; the constraints and
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
    next_at     bigint,             -- the next period (seconds); NULL if none is planned. For people: nothing rests on it
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
    owed        text,               -- JSON: the periods before `since` that an edit left open; NULL: not edited
    kind        text     COLLATE "C" NOT NULL,  -- of its target: which workers can launch it
    aside       text,               -- why it is looked at later: it cannot be read, or not be committed
    PRIMARY KEY (schedule_id, tenant_id)  -- in this order two rows nearly always differ in the first column
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- In the order in which a tick asks. The shard stands in it, so that the rows of others are passed over without a look.
CREATE INDEX due_wake ON due (tenant_id, kind, wake, schedule_id, shard);

-- Tombstones, for retention.
CREATE INDEX due_deleted ON due (tenant_id, schedule_id) WHERE deleted;

CREATE TRIGGER due_stays BEFORE DELETE ON due FOR EACH ROW WHEN (NOT old.deleted OR old.seen <> 0)
EXECUTE FUNCTION kron_refuse('a schedule leaves a tombstone');

-- A guard that looks before an update locks each row a second time; one that looks after it refuses as well.
CREATE TRIGGER due_goes_forward AFTER UPDATE ON due FOR EACH ROW
WHEN (new.cursor < old.cursor OR new.revision < old.revision OR new.reach < old.reach
      OR new.digest <> old.digest AND new.revision = old.revision
      OR new.schedule_id <> old.schedule_id OR new.tenant_id <> old.tenant_id)
EXECUTE FUNCTION kron_refuse('a schedule only goes forward, and its definition changes with its revision only');

-- Up to which instant (milliseconds) old records of a tenant may have been removed. What is younger stays: the guards
-- below refuse to delete it, whoever asks.
CREATE TABLE retention (
    tenant_id text   COLLATE "C" NOT NULL PRIMARY KEY,
    horizon   bigint NOT NULL
);

CREATE TRIGGER retention_goes_forward BEFORE UPDATE ON retention FOR EACH ROW WHEN (new.horizon < old.horizon)
EXECUTE FUNCTION kron_refuse('the horizon of the retention only goes forward');

-- Let a row go whose time, in the column and the unit (milliseconds) that are named, lies before the horizon.
CREATE FUNCTION kron_refuse_young() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF (to_jsonb(old) ->> tg_argv[1])::bigint * tg_argv[2]::bigint
       < (SELECT r.horizon FROM retention r WHERE r.tenant_id = old.tenant_id) THEN
        RETURN old;
    END IF;
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation';
END $$;

-- Let a row go that belongs to a tombstone, and is old.
CREATE FUNCTION kron_refuse_living() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF old.at < (SELECT r.horizon FROM retention r WHERE r.tenant_id = old.tenant_id)
       AND EXISTS (SELECT FROM due d WHERE d.schedule_id = old.schedule_id AND d.tenant_id = old.tenant_id AND d.deleted)
    THEN
        RETURN old;
    END IF;
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'check_violation';
END $$;

-- Every definition that there ever was, while its schedule has a row.
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

CREATE TRIGGER revisions_never_change BEFORE UPDATE ON schedule_revisions
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a revision never changes');

CREATE TRIGGER revisions_stay BEFORE DELETE ON schedule_revisions
FOR EACH ROW EXECUTE FUNCTION kron_refuse_living('a revision stays');

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

CREATE TRIGGER acts_never_change BEFORE UPDATE ON schedule_acts
FOR EACH ROW EXECUTE FUNCTION kron_refuse('an act never changes');

CREATE TRIGGER acts_stay BEFORE DELETE ON schedule_acts
FOR EACH ROW EXECUTE FUNCTION kron_refuse_living('an act stays');

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
    unsent          integer  NOT NULL CHECK (unsent BETWEEN 0 AND attempt),  -- attempts that were withheld
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

-- Dead letters: runs that could not be started, by when they were given up. Few rows, and none of the others pays.
CREATE INDEX runs_dead ON runs (tenant_id, updated_at DESC, idempotency_key DESC)
WHERE status = 'failed' AND outcome = 'missed';

-- Nothing ever fails for want of a partition; workers make the others ahead of time.
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

-- The keys of manual runs and backfills, for as long as the retention: the same request twice is one run, whatever its
-- time.
CREATE TABLE requests (
    tenant_id       text   COLLATE "C" NOT NULL,
    idempotency_key bytea  NOT NULL,
    schedule_id     text   COLLATE "C" NOT NULL,
    run_at          bigint NOT NULL,
    at              bigint NOT NULL DEFAULT kron_now(),  -- when it was asked for
    PRIMARY KEY (tenant_id, idempotency_key)
);

CREATE INDEX requests_at ON requests USING brin (at);  -- written in the order of time: it costs a write nearly nothing

CREATE TRIGGER requests_never_change BEFORE UPDATE ON requests
FOR EACH ROW EXECUTE FUNCTION kron_refuse('a request never changes');

CREATE TRIGGER requests_stay BEFORE DELETE ON requests
FOR EACH ROW EXECUTE FUNCTION kron_refuse_young('a request stays', 'at', '1');

-- What a target calls a run that it took, where it says so. It comes with the answer, and is written with it.
CREATE TABLE run_ids (
    tenant_id       text   COLLATE "C" NOT NULL,
    idempotency_key bytea  NOT NULL,
    schedule_id     text   COLLATE "C" NOT NULL,
    run_id          text   NOT NULL CHECK (run_id <> ''),
    at              bigint NOT NULL DEFAULT kron_now(),
    PRIMARY KEY (tenant_id, idempotency_key)
);

CREATE INDEX run_ids_at ON run_ids USING brin (at);

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

-- The workers: since when each has been heard of without a break, when it was last heard of, until when it counts as
-- living, and the kinds of target that it can launch. Nothing here decides who may write.
CREATE TABLE workers (
    tenant_id text   COLLATE "C" NOT NULL,
    owner     text   COLLATE "C" NOT NULL,
    joined    bigint NOT NULL,
    said      bigint NOT NULL,
    until     bigint NOT NULL,
    kinds     text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, owner)
) WITH (fillfactor = 50);

-- The kinds of target: when a worker that can launch it was last heard of, until when one lives, and the last span of
-- time in which none did. What fell due in that span may be missed; what fell due at another time is only late.
CREATE TABLE kinds (
    tenant_id text   COLLATE "C" NOT NULL,
    kind      text   COLLATE "C" NOT NULL,
    said      bigint NOT NULL,
    until     bigint NOT NULL,
    down_from bigint NOT NULL,
    up_since  bigint NOT NULL,
    PRIMARY KEY (tenant_id, kind)
) WITH (fillfactor = 50);

-- The workflow store, for services that run on several hosts: a DAG for each version of a workflow. A tenant's workflows
-- begin with its name, as its schedules do.
CREATE TABLE workflows (
    tenant_id   text    COLLATE "C" NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    version     integer NOT NULL CHECK (version >= 0),
    dag         text    NOT NULL,  -- as it came, to the byte: what the executor gets is what was deployed
    deployed_at bigint  NOT NULL,
    PRIMARY KEY (tenant_id, workflow_id, version)
);

-- Who sees what. Each tenant sees and writes its own rows only, whoever owns the tables. The store says for whom it works
-- in every transaction; who has not said so sees nothing. Superusers and roles with BYPASSRLS are not held back: the
-- service should be neither.
CREATE FUNCTION kron_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('app.tenant', true), '') $$;

-- A tenant of the service is the beginning of a name: `acme/`. Besides, each transaction of the service says whose names
-- it is about, and sees and writes no others, whatever the code does:
--
--     app.within = 'acme/'   the schedules whose names begin so, and what belongs to them
--     app.within = '*'       all of them: a worker, or an operator's command
--     not said               all of them; but to the role of the API, nothing
CREATE FUNCTION kron_within() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT CASE coalesce(current_setting('app.within', true), '')
       WHEN '*' THEN NULL
       WHEN '' THEN CASE WHEN current_user = 'kron_api' THEN '/' END  -- no name begins with this
       ELSE current_setting('app.within') END
$$;

-- Both functions are asked once for each statement, not for each row. For the two tables that every tick reads, IS TRUE
-- changes nothing in what is seen, but no index can answer it: so no batch begins with all rows of a tenant, also in a
-- week of the ledger that has just begun and that nobody has counted yet (see queries.sql).
DO $$
DECLARE
    place text;
    own text := 'tenant_id = (SELECT kron_tenant())';
    whole text := '(SELECT kron_within()) IS NULL';
    named text;
BEGIN
    FOREACH place IN ARRAY ARRAY['definitions', 'due', 'schedule_revisions', 'schedule_acts', 'runs', 'requests',
                                 'run_ids', 'schedule_gaps', 'workers', 'kinds', 'workflows', 'retention'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', place,
                       CASE WHEN place IN ('due', 'runs') THEN '(' || own || ') IS TRUE' ELSE own END, own);
        named := CASE place WHEN 'workflows' THEN 'workflow_id' ELSE 'schedule_id' END;
        EXECUTE format('CREATE POLICY within ON %I AS RESTRICTIVE USING (%s)', place,
                       CASE WHEN place = 'workers' THEN whole  -- no tenant's business
                            WHEN place IN ('kinds', 'retention') THEN 'true'
                            ELSE format('%s OR starts_with(%I, (SELECT kron_within()))', whole, named) END);
    END LOOP;
END $$;

-- The question of an idle worker, as one statement that is its own transaction: it says for whom it asks, and asks.
CREATE FUNCTION kron_poll(whose text, place text, wanted text[], held bigint[]) RETURNS TABLE (now bigint, wake bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('app.tenant', whose, true), set_config('app.within', place, true);
    RETURN QUERY SELECT kron_now(), (
        SELECT min(d.wake)
        FROM unnest(wanted) AS k (kind), LATERAL (
            SELECT u.wake FROM due u
            WHERE u.tenant_id = whose AND u.kind = k.kind AND u.wake IS NOT NULL AND u.shard = ANY (held)
            ORDER BY u.wake
            LIMIT 1) AS d);
END $$;

-- What people and other programs read: the names and meanings of the service's specification, times as timestamps. A view
-- sees what its reader may see.

-- A part of a target as it was before it was percent-encoded.
CREATE FUNCTION kron_unquoted(part text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT convert_from(convert_to(
    ('"' || replace(replace(part, '+', ' '), '%', '\u00') || '"')::jsonb #>> '{}', 'LATIN1'), 'UTF8')
$$;

-- `version` is the workflow's, and NULL for other targets; `revision` counts the definitions of a schedule. `next_run_at`
-- is NULL while nothing is planned: for a paused, suspended or deleted schedule, and after the last period.
CREATE VIEW schedules WITH (security_invoker = true) AS
SELECT d.tenant_id,
       d.schedule_id,
       kron_unquoted(substring(d.target FROM '^workflow:([^?]*)')) AS workflow_id,
       substring(d.target FROM '^workflow:.*[?&]version=([0-9]+)')::integer AS version,
       kron_unquoted(substring(d.target FROM '^workflow:.*[?&]user=([^&]*)')) AS user_id,
       d.schedule AS cron_expr,
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
       d.dialect,
       u.revision,
       to_timestamp(u.cursor) AS handled_until,
       to_timestamp(u.paused_until / 1000.0) AS paused_until,
       u.deleted
FROM definitions d JOIN due u USING (tenant_id, schedule_id);

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
       to_timestamp(lease_until / 1000.0) AS lease_until
FROM runs r LEFT JOIN run_ids i USING (tenant_id, idempotency_key);

-- The partitions of the ledger: a week each, from a Monday on, with the seconds from which and up to which their periods
-- lie.
CREATE VIEW kron_partitions AS
SELECT c.relname::text AS name, p.start, p.start + 7 * 86400 AS stop
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid,
     LATERAL (SELECT extract(epoch FROM to_date(substr(c.relname, 6), 'YYYYMMDD'))::bigint) AS p (start)
WHERE i.inhparent = 'runs'::regclass AND c.relname ~ '^runs_[0-9]{8}$';

-- Maintenance. Workers call the functions that have no name of a table in their arguments; they run with the rights of the
-- owner. The caller sets a short lock_timeout: ticks wait behind who waits for a lock. Partitions are asked directly, and
-- so for every tenant; the other tables for the tenant of the transaction.

-- Make the partition of the week that begins then. Rows of it in the default partition move into it; where they are more
-- than `most`, nothing is done, and the answer is NULL: the move is made under a lock that every tick waits for.
CREATE FUNCTION kron_make_partition(start bigint, most bigint DEFAULT 10000000000) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    name text := 'runs_' || to_char(to_timestamp(start) AT TIME ZONE 'UTC', 'YYYYMMDD');
    stop bigint := start + 7 * 86400;
    columns text := 'tenant_id, schedule_id, run_at, trigger_id, idempotency_key, fire_at, lease_until, not_before, '
                    'created_at, updated_at, sent_at, revision, attempt, unsent, status, outcome, reason, owner, '
                    'doubt, alone';
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
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (schedule_id, sole, tenant_id) WHERE open', name || '_open', name);
    -- The table of all weeks too: a statement that knows only the old partitions would look for the rows there.
    LOCK TABLE ONLY runs, ONLY runs_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM runs_default WHERE run_at >= $1 AND run_at < $2',
                   name, columns, columns) USING start, stop;
    DELETE FROM runs_default WHERE run_at >= start AND run_at < stop;
    EXECUTE format('ALTER TABLE runs ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, start, stop);
    RETURN name;
END $$;

-- Drop a partition, unless something may still become of one of its runs, or one was written at or after `horizon`
-- (milliseconds), such as that of a backfill. Whether it did. Only writers of that week wait while it looks.
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

-- Make the next partition that is missing, of this week, of those ahead, and of weeks that have rows in the default
-- partition and none that must go. Its name; NULL if there is none to make.
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

-- Drop the first partition that ended before `horizon` (milliseconds) and that nobody needs. Its name; NULL if there is
-- none.
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

-- Remove up to `most` old records of each kind, of the tenant of the transaction. How many were removed.
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
    DELETE FROM run_ids WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT r.ctid FROM run_ids r WHERE r.tenant_id = whose AND r.at < kron_prune.horizon LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    DELETE FROM schedule_gaps WHERE tenant_id = whose AND ctid = ANY (ARRAY(
        SELECT g.ctid FROM schedule_gaps g WHERE g.tenant_id = whose AND g.last < kron_prune.horizon / 1000 LIMIT most));
    GET DIAGNOSTICS part = ROW_COUNT;
    removed := removed + part;
    gone := ARRAY(
        SELECT d.schedule_id FROM due d
        WHERE d.tenant_id = whose AND d.deleted AND d.seen = 0
          AND NOT EXISTS (SELECT FROM schedule_acts a WHERE a.tenant_id = whose AND a.schedule_id = d.schedule_id
                                                        AND a.at >= kron_prune.horizon)
          AND NOT EXISTS (SELECT FROM schedule_revisions v WHERE v.tenant_id = whose AND v.schedule_id = d.schedule_id
                                                             AND v.at >= kron_prune.horizon)
          AND NOT EXISTS (SELECT FROM schedule_gaps g WHERE g.tenant_id = whose AND g.schedule_id = d.schedule_id)
          AND NOT EXISTS (SELECT FROM runs r WHERE r.tenant_id = whose AND r.schedule_id = d.schedule_id)
        ORDER BY d.schedule_id LIMIT most FOR UPDATE SKIP LOCKED);
    DELETE FROM schedule_acts WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM schedule_revisions WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM due WHERE tenant_id = whose AND schedule_id = ANY (gone);
    DELETE FROM definitions WHERE tenant_id = whose AND schedule_id = ANY (gone);
    RETURN removed + coalesce(array_length(gone, 1), 0);
END $$;

-- Whatever a worker asks for, the records of the last day stay.
CREATE FUNCTION kron_keep_a_day(horizon bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF horizon > kron_now() - 86400000 THEN
        RAISE EXCEPTION 'the retention is one day or more' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION kron_make_partition(bigint, bigint), kron_drop_partition(text, bigint),
    kron_make_next(integer, bigint, bigint), kron_drop_next(bigint), kron_prune(bigint, integer) FROM PUBLIC;

-- Who may do what. Roles are the operator's to make; those that exist should have these rights. A worker and the API write,
-- and never change a table or delete from the ledger; an auditor reads. `kron migrate` gives what is not granted yet, each
-- time that it is run, and `kron doctor` names it.
CREATE VIEW kron_rights AS
WITH wanted (roles, rights, things) AS (VALUES
    ('{kron_api,kron_worker,kron_auditor}'::text[], '{SELECT}'::text[],
     '{definitions,due,schedule_revisions,schedule_acts,runs,requests,run_ids,schedule_gaps,workers,kinds,workflows,
       retention,kron_migrations,kron_partitions,kron_rights,schedules,schedule_runs}'::text[]),
    ('{kron_api,kron_worker}', '{INSERT,UPDATE}', '{definitions,due,runs,run_ids}'),
    ('{kron_api,kron_worker}', '{INSERT}', '{schedule_revisions,schedule_acts,requests,schedule_gaps}'),
    ('{kron_api,kron_worker}', '{INSERT,UPDATE,DELETE}', '{workers,kinds}'),
    ('{kron_api}', '{INSERT,UPDATE}', '{workflows}'))
SELECT r.rolname::text AS role, n.nspname::text AS thing, 'USAGE' AS privilege, 'SCHEMA' AS kind,
       has_schema_privilege(r.oid, n.oid, 'USAGE') AS granted
FROM pg_roles r, pg_namespace n
WHERE r.rolname IN ('kron_api', 'kron_worker', 'kron_auditor')
  AND n.oid = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'due'::regclass)
UNION ALL
SELECT r.rolname, c.relname, p.privilege, 'TABLE', has_table_privilege(r.oid, c.oid, p.privilege)
FROM wanted w
CROSS JOIN unnest(w.rights) AS p (privilege)
JOIN pg_roles r ON r.rolname = ANY (w.roles)
JOIN pg_class c ON c.relname = ANY (w.things)
     AND c.relnamespace = (SELECT k.relnamespace FROM pg_class k WHERE k.oid = 'due'::regclass)
UNION ALL
SELECT r.rolname, f.oid::regprocedure::text, 'EXECUTE', 'FUNCTION', has_function_privilege(r.oid, f.oid, 'EXECUTE')
FROM pg_roles r, pg_proc f
WHERE r.rolname IN ('kron_api', 'kron_worker') AND f.proname IN ('kron_make_next', 'kron_drop_next', 'kron_prune')
  AND f.pronamespace = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'due'::regclass);

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
