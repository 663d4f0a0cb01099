-- Forms of rows: what they are, and which of their columns have which kind of value. Two databases that were written by
-- the same rules have the same forms. `part` selects a part of the schedules.

-- runs: by how they ended
SELECT DISTINCT concat_ws(' ', status, outcome, reason, attempt), concat_ws(' ',
    trigger_id = '', unsent, launched, failures, owner <> '', lease_until IS NULL, not_before = 0, created_at >= fire_at,
    updated_at >= created_at, sent_at = 0, sent_at = 0 OR sent_at >= created_at, updated_at >= sent_at, ends_by IS NULL,
    maybe_delivered, exclusive, open, exclusive_active, scope = kron_scope(schedule_id),
    idempotency_key = sha256(convert_to(schedule_id || ':' || run_at, 'UTF8')))
FROM runs WHERE trigger_id = '' AND not_before = 0 AND (open OR hashtext(schedule_id) %% %(part)s = 0);

-- attempts: by their results
SELECT DISTINCT result, concat_ws(' ', slot, number, code IS NULL, excerpt <> '', duration >= 0)
FROM run_attempts WHERE hashtext(schedule_id) %% %(part)s = 0;

-- states: by what became of the schedules
SELECT DISTINCT concat_ws(' ', s.paused, s.deleted, s.open_runs_digest <> 0, s.revision > 1), concat_ws(' ',
    s.wake IS NULL, s.next_at IS NULL, s.aside IS NULL, s.owed IS NULL, s.paused_until IS NULL, s.run_count,
    s.failure_count, s.reach >= s.cursor, s.digest = d.digest, s.kind, s.since > 1000000000000, s.cursor > 1000000000)
FROM schedule_state s JOIN definitions d USING (tenant_id, schedule_id)
WHERE s.last_state IS NOT NULL AND hashtext(s.schedule_id) %% %(part)s = 0;

-- definitions: all alike
SELECT DISTINCT 'definition', concat_ws(' ', policy::json -> 'completion' IS NOT NULL, labels LIKE '{"%%":"%%"}',
    source IS NULL, payload IS NULL, webhook IS NULL, command IS NULL, start_at IS NULL)
FROM definitions WHERE hashtext(schedule_id) %% %(part)s = 0;

-- labels: as many as the definitions have
SELECT DISTINCT 'labels', (
    SELECT count(*) FROM schedule_labels l WHERE l.tenant_id = d.tenant_id AND l.schedule_id = d.schedule_id)
    - (SELECT count(*) FROM json_object_keys(d.labels::json))
FROM definitions d WHERE hashtext(schedule_id) %% %(part)s = 0;

-- revisions: by number
SELECT DISTINCT 'revision ' || number, concat_ws(' ', cursor <= at / 1000, actor <> '', note <> '', scope = kron_scope(schedule_id))
FROM schedule_revisions WHERE hashtext(schedule_id) %% %(part)s = 0;

-- actions: by kind
SELECT DISTINCT action, concat_ws(' ', until IS NULL, actor <> '', at > 1000000000000, scope = kron_scope(schedule_id))
FROM schedule_actions WHERE action <> 'resumed' AND hashtext(schedule_id) %% %(part)s = 0;

-- counters: those of all schedules are as large as those of the tenants and of schedules without one together
SELECT 'counters', (SELECT sum(count) FROM outcome_minutes WHERE scope = '' AND status = 'failed')
    = (SELECT count(*) FROM runs WHERE status = 'failed');
