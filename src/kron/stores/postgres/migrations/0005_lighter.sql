-- The same rules at a lower price for every tick. Workers of before and after it work side by side.

-- For whom a transaction works is asked once a statement instead of once a row. IS TRUE changes nothing in what is
-- seen, but no index can answer it: so no batch begins with all rows of a tenant (see queries.sql).
ALTER POLICY tenant ON definitions
    USING (tenant_id = (SELECT kron_tenant())) WITH CHECK (tenant_id = (SELECT kron_tenant()));
ALTER POLICY tenant ON due
    USING ((tenant_id = (SELECT kron_tenant())) IS TRUE) WITH CHECK (tenant_id = (SELECT kron_tenant()));
ALTER POLICY tenant ON runs
    USING (tenant_id = (SELECT kron_tenant())) WITH CHECK (tenant_id = (SELECT kron_tenant()));

-- A guard that looks before an update locks each row a second time; one that looks after it refuses as well.
DROP TRIGGER due_goes_forward ON due;
CREATE TRIGGER due_goes_forward AFTER UPDATE ON due FOR EACH ROW
WHEN (new.cursor < old.cursor OR new.revision < old.revision OR new.reach < old.reach
      OR new.digest <> old.digest AND new.revision = old.revision
      OR new.schedule_id <> old.schedule_id OR new.tenant_id <> old.tenant_id)
EXECUTE FUNCTION kron_refuse('a schedule only goes forward, and its definition changes with its revision only');
