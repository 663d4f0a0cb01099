-- What people and other programs read: the names and meanings of the service, times as timestamps. A view sees what
-- its reader may see.

CREATE VIEW schedules WITH (security_invoker = true) AS
SELECT d.tenant_id,
       d.schedule_id,
       d.target,
       d.name,
       d.description,
       u.revision AS version,
       d.schedule AS cron_expr,
       d.dialect,
       d.timezone,
       to_timestamp(d.start_at) AS start_at,
       to_timestamp(d.end_at) AS end_at,
       to_timestamp(u.wake / 1000.0) AS next_run_at,
       to_timestamp(u.cursor) AS handled_until,
       u.paused,
       to_timestamp(u.paused_until / 1000.0) AS paused_until,
       u.deleted,
       ((d.policy::jsonb ->> 'jitter')::numeric / 1000000)::bigint AS jitter_ms,
       d.policy::jsonb ->> 'overlap' AS overlap_policy,
       CASE d.policy::jsonb ->> 'catchup' WHEN 'all' THEN 'fire_immediately' ELSE d.policy::jsonb ->> 'catchup' END
           AS catchup_policy,
       to_timestamp(d.updated_at / 1000.0) AS updated_at
FROM definitions d JOIN due u USING (tenant_id, schedule_id);

CREATE VIEW schedule_runs WITH (security_invoker = true) AS
SELECT tenant_id,
       encode(idempotency_key, 'hex') AS idempotency_key,
       schedule_id,
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
       to_timestamp(updated_at / 1000.0) AS updated_at
FROM runs;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['kron_api', 'kron_worker', 'kron_auditor'] LOOP
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('GRANT SELECT ON schedules, schedule_runs TO %I', name);
        END IF;
    END LOOP;
END $$;
