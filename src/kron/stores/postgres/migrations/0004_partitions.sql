-- The partitions of the ledger: a week each, from a Monday on. They are made ahead of time and dropped when they are
-- old, by `maintain`, which needs the rights of the owner and gives up soon rather than make ticks wait for a lock.

-- The partitions that there are, with the seconds from which and up to which their periods lie.
CREATE VIEW kron_partitions AS
SELECT c.relname::text AS name, p.start, p.start + 7 * 86400 AS stop
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid,
     LATERAL (SELECT extract(epoch FROM to_date(substr(c.relname, 6), 'YYYYMMDD'))::bigint) AS p (start)
WHERE i.inhparent = 'runs'::regclass AND c.relname ~ '^runs_[0-9]{8}$';

-- Make the partition of the week that begins then. Rows that came before it move into it.
CREATE FUNCTION kron_make_partition(start bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text := 'runs_' || to_char(to_timestamp(start) AT TIME ZONE 'UTC', 'YYYYMMDD');
    stop bigint := start + 7 * 86400;
    columns text := 'tenant_id, schedule_id, run_at, trigger_id, idempotency_key, fire_at, lease_until, not_before, '
                    'created_at, updated_at, sent_at, revision, attempt, status, outcome, reason, owner, doubt, alone';
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE runs INCLUDING GENERATED INCLUDING CONSTRAINTS) WITH (fillfactor = 85)', name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (schedule_id, sole, tenant_id) WHERE open', name || '_open', name);
    LOCK TABLE runs_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM runs_default WHERE run_at >= $1 AND run_at < $2',
                   name, columns, columns) USING start, stop;
    DELETE FROM runs_default WHERE run_at >= start AND run_at < stop;
    EXECUTE format('ALTER TABLE runs ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, start, stop);
    RETURN name;
END $$;

-- Drop a partition, unless something may still become of one of its runs. Whether it did.
CREATE FUNCTION kron_drop_partition(name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE going boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM kron_partitions p WHERE p.name = kron_drop_partition.name) THEN
        RAISE EXCEPTION '% is not a partition of the ledger', name;
    END IF;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE open)', name) INTO going;
    IF going THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE runs DETACH PARTITION %I', name);
    EXECUTE format('DROP TABLE %I', name);
    RETURN true;
END $$;

REVOKE EXECUTE ON FUNCTION kron_make_partition(bigint), kron_drop_partition(text) FROM PUBLIC;
