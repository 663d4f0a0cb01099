-- Each tenant sees and writes its own rows only, whoever owns the tables. The store says for whom it works in every
-- transaction; who has not said so sees nothing. Superusers and roles with BYPASSRLS are not held back: the service
-- should be neither.

CREATE FUNCTION kron_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('app.tenant', true), '') $$;

ALTER TABLE definitions ENABLE ROW LEVEL SECURITY;
ALTER TABLE definitions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON definitions USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE due ENABLE ROW LEVEL SECURITY;
ALTER TABLE due FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON due USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE schedule_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedule_revisions USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE schedule_acts ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_acts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedule_acts USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON runs USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE requests FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON requests USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE schedule_gaps ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_gaps FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedule_gaps USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE workers ENABLE ROW LEVEL SECURITY;
ALTER TABLE workers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workers USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

ALTER TABLE shards ENABLE ROW LEVEL SECURITY;
ALTER TABLE shards FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON shards USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());

-- Roles are the operator's to make. Those that exist get what they need: a worker and the API write, and never change
-- a table or delete from the ledger; an auditor reads.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['kron_api', 'kron_worker'] LOOP
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE ON definitions, due, runs TO %I', name);
            EXECUTE format('GRANT SELECT, INSERT ON schedule_revisions, schedule_acts, requests, schedule_gaps TO %I', name);
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON workers, shards TO %I', name);
            EXECUTE format('GRANT SELECT ON kron_migrations TO %I', name);
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kron_auditor') THEN
        GRANT SELECT ON definitions, due, schedule_revisions, schedule_acts, runs, requests, schedule_gaps, workers,
                        shards, kron_migrations TO kron_auditor;
    END IF;
END $$;
