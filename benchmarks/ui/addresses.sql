-- Values for the parameters of addresses, of one tenant: schedules and runs all over the ledger, and far positions.

-- name: schedules in no order
SELECT schedule_id FROM schedule_state WHERE starts_with(schedule_id, %(scope)s) AND NOT deleted
ORDER BY md5(schedule_id) LIMIT 40;

-- key: runs in no order, those that did not succeed first
SELECT encode(r.idempotency_key, 'hex')
FROM (SELECT schedule_id FROM schedule_state WHERE starts_with(schedule_id, %(scope)s) ORDER BY md5(schedule_id) DESC LIMIT 60)
     AS s, LATERAL (SELECT * FROM runs WHERE schedule_id = s.schedule_id ORDER BY status, run_at LIMIT 1) AS r
LIMIT 40;

-- trouble: positions in the list of runs that did not succeed, from its middle on
SELECT updated_at || '-' || encode(idempotency_key, 'hex') FROM runs
WHERE starts_with(schedule_id, %(scope)s) AND updated_at < %(middle)s
  AND status IN ('failed', 'cancelled', 'lost', 'unknown', 'skipped', 'missed', 'unschedulable')
ORDER BY updated_at DESC LIMIT 40;

-- dead: dead letters from the middle of their list on
SELECT encode(idempotency_key, 'hex') FROM runs
WHERE starts_with(schedule_id, %(scope)s) AND updated_at < %(middle)s AND status = 'failed' AND outcome = 'missed'
ORDER BY updated_at DESC LIMIT 40;

-- change: positions in the list of changes, from its middle on
SELECT at || '-0-' || number || '-' || schedule_id FROM schedule_revisions
WHERE starts_with(schedule_id, %(scope)s) AND at < %(middle)s AND number > 1 ORDER BY at DESC LIMIT 40;
