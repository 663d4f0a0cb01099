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

ALTER TABLE workflows ENABLE ROW LEVEL SECURITY;
ALTER TABLE workflows FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workflows USING (tenant_id = kron_tenant()) WITH CHECK (tenant_id = kron_tenant());
CREATE POLICY within ON workflows AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(workflow_id, (SELECT kron_within())));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kron_api') THEN
        GRANT SELECT, INSERT, UPDATE ON workflows TO kron_api;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kron_worker') THEN
        GRANT SELECT ON workflows TO kron_worker;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'kron_auditor') THEN
        GRANT SELECT ON workflows TO kron_auditor;
    END IF;
END $$;
