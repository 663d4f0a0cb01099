-- What a target calls a run that it took, where it says so. It comes with the answer, and is written with it.
CREATE TABLE run_ids (
    tenant_id       text  COLLATE "C" NOT NULL,
    idempotency_key bytea NOT NULL,
    schedule_id     text  COLLATE "C" NOT NULL,
    run_id          text  NOT NULL CHECK (run_id <> ''),
    PRIMARY KEY (tenant_id, idempotency_key)
);

ALTER TABLE run_ids ENABLE ROW LEVEL SECURITY;
ALTER TABLE run_ids FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON run_ids USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());
CREATE POLICY within ON run_ids AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

-- Dead letters: runs that could not be started, by when they were given up. Few rows, and none of the others pays.
CREATE INDEX runs_dead ON runs (tenant_id, updated_at DESC, idempotency_key DESC)
WHERE status = 'failed' AND outcome = 'missed';

CREATE OR REPLACE VIEW schedule_runs WITH (security_invoker = true) AS
SELECT tenant_id,
       encode(idempotency_key, 'hex') AS idempotency_key,
       r.schedule_id,
       to_timestamp(run_at) AS run_at,
       trigger_id,
       to_timestamp(fire_at / 1000.0) AS fire_at,
       CASE WHEN status IN ('success', 'started') THEN upper(status)
            WHEN status IN ('pending', 'launching', 'retry', 'enqueued') THEN 'ENQUEUED'
            WHEN status = 'waiting' THEN 'STARTED'
            WHEN status IN ('skipped', 'missed', 'unschedulable') THEN 'SKIPPED'
            ELSE 'FAILED' END AS status,
       status AS state,
       outcome,
       reason,
       revision,
       attempt,
       owner,
       to_timestamp(lease_until / 1000.0) AS lease_until,
       to_timestamp(created_at / 1000.0) AS created_at,
       to_timestamp(updated_at / 1000.0) AS updated_at,
       i.run_id
FROM runs r LEFT JOIN run_ids i USING (tenant_id, idempotency_key);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['kron_api', 'kron_worker'] LOOP
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE ON run_ids TO %I', name);
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kron_auditor') THEN
        GRANT SELECT ON run_ids TO kron_auditor;
    END IF;
END $$;
