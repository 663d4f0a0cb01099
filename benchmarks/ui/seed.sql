-- Statements that seed the benchmark of the dashboard, set by set, in the form that the engine writes. The tables whose
-- names begin with `seed_` are its own.

-- make_tables: what is seeded
CREATE TABLE seed_jobs (kind integer, label_set integer, digest bigint, schedule text, dialect text, timezone text,
    policy text, name text, description text, command text, target text, start_at bigint, end_at bigint, source text,
    source_dialect text, source_timezone text, payload text, labels text, webhook text, PRIMARY KEY (kind, label_set));
CREATE TABLE seed_periods (kind integer, run_at bigint, PRIMARY KEY (kind, run_at));
CREATE TABLE seed_dues (number integer, run_at bigint, fire_at bigint);
CREATE TABLE seed_running (number integer PRIMARY KEY, open_runs_digest bigint, sent_at bigint, lease_until bigint);
CREATE TABLE seed_schedules (number integer, name text COLLATE "C", kind integer, label_set integer, shard integer,
    standing text, stopped bigint, last bigint, next bigint, wake bigint, edited bigint, break_from bigint, break_to bigint);

-- index_tables: before they are joined
SET jit = off;
SET work_mem = '256MB';
SET maintenance_work_mem = '512MB';
ALTER TABLE seed_schedules ADD PRIMARY KEY (number);
CREATE INDEX ON seed_schedules (kind);
ANALYZE seed_schedules; ANALYZE seed_jobs; ANALYZE seed_periods; ANALYZE seed_dues; ANALYZE seed_running;

-- definitions: the definition of each schedule
INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description, command,
    target, start_at, end_at, source, source_dialect, source_timezone, payload, labels, webhook, updated_at)
SELECT 'default', s.name, j.digest, j.schedule, j.dialect, j.timezone, j.policy, j.name, j.description, j.command,
    j.target, j.start_at, j.end_at, j.source, j.source_dialect, j.source_timezone, j.payload, j.labels, j.webhook,
    %(defined)s::bigint
FROM seed_schedules s JOIN seed_jobs j USING (kind, label_set) ORDER BY s.name;

-- names: as the trigger of the definitions writes them
INSERT INTO schedule_names (tenant_id, schedule_id) SELECT tenant_id, schedule_id FROM definitions;

-- labels: as the trigger of the definitions writes them
INSERT INTO schedule_labels (tenant_id, label, schedule_id)
SELECT 'default', l.key || '=' || l.value, s.name
FROM seed_schedules s JOIN seed_jobs j USING (kind, label_set), json_each_text(j.labels::json) AS l
ORDER BY 2, 3;

-- revisions: the first one of each schedule, and a second one of some
INSERT INTO schedule_revisions (tenant_id, schedule_id, number, schedule, dialect, timezone, policy, name, description,
    command, target, start_at, end_at, source, source_dialect, source_timezone, payload, labels, webhook, at, actor, note,
    cursor)
SELECT 'default', s.name, r.number, j.schedule, j.dialect, j.timezone, j.policy, j.name,
    CASE WHEN r.number = 1 AND s.edited IS NOT NULL THEN 'before the edit' ELSE j.description END, j.command,
    j.target, j.start_at, j.end_at, j.source, j.source_dialect, j.source_timezone, j.payload, j.labels, j.webhook,
    CASE r.number WHEN 1 THEN %(defined)s::bigint ELSE s.edited * 1000 END, 'deploy', 'release ' || r.number,
    CASE r.number WHEN 1 THEN %(defined)s::bigint / 1000 ELSE s.edited END - 1
FROM seed_schedules s JOIN seed_jobs j USING (kind, label_set),
     generate_series(1, 1 + (s.edited IS NOT NULL)::integer) AS r (number)
ORDER BY 2, 3;

-- actions: of paused, deleted and resumed schedules
INSERT INTO schedule_actions (tenant_id, schedule_id, action, at, until, actor, note)
SELECT 'default', a.name, a.action, a.at * 1000, NULL, a.actor, a.note
FROM (
    SELECT name, standing AS action, stopped AS at, 'ana.lopez' AS actor, 'vendor maintenance' AS note
    FROM seed_schedules WHERE standing IN ('paused', 'deleted')
    UNION ALL SELECT name, 'paused', break_from, 'ben.okafor', 'template is broken' FROM seed_schedules
    WHERE break_from IS NOT NULL AND number %% 2 = 0
    UNION ALL SELECT name, 'resumed', break_to, 'ben.okafor', '' FROM seed_schedules
    WHERE break_from IS NOT NULL AND number %% 2 = 0) AS a
ORDER BY a.at;

-- gaps: pauses that have ended, and periods that no worker handled
INSERT INTO schedule_gaps (tenant_id, schedule_id, first, last, count, outcome, reason)
SELECT 'default', s.name, min(p.run_at), max(p.run_at), count(*),
    CASE s.number %% 2 WHEN 0 THEN 'skipped' ELSE 'missed' END, CASE s.number %% 2 WHEN 0 THEN 'paused' ELSE 'catchup_none' END
FROM seed_schedules s JOIN seed_periods p ON p.kind = s.kind AND p.run_at > s.break_from AND p.run_at <= s.break_to
WHERE p.run_at <= s.last
GROUP BY s.number, s.name;

-- partition_indexes: indexes of a partition that its attachment builds again, at once instead of row by row
SELECT i.indexrelid::regclass::text FROM pg_index i
WHERE i.indrelid = to_regclass(%(partition)s) AND i.indexrelid::regclass::text NOT LIKE '%%open';

-- runs: of the periods of one week
INSERT INTO {partition} (tenant_id, schedule_id, run_at, trigger_id, idempotency_key, fire_at, lease_until, not_before,
    created_at, updated_at, sent_at, ends_by, revision, attempt, unsent, launched, failures, status, outcome, reason,
    owner, maybe_delivered, exclusive)
SELECT 'default', r.name, r.run_at, '', r.key, r.fire_at, r.lease_until, 0, r.fire_at + 5 + r.draw %% 30,
    CASE WHEN r.status IN ('skipped', 'missed') THEN r.fire_at + 5 + r.draw %% 30 ELSE r.sent_at + 40 + r.draw * 3 END,
    CASE WHEN r.status IN ('skipped', 'missed') THEN 0 ELSE r.sent_at END, NULL,
    1 + coalesce(r.run_at > r.edited, false)::integer,
    CASE WHEN r.status IN ('skipped', 'missed') THEN 0 ELSE 1 + r.is_retried::integer END, 0,
    CASE WHEN r.status IN ('success', 'started', 'lost') OR r.status = 'failed' AND NOT r.is_dead THEN 1 + r.is_retried::integer
         ELSE 0 END,
    (r.status = 'failed' AND NOT r.is_dead)::integer, r.status,
    CASE WHEN r.status IN ('skipped', 'missed') THEN r.status WHEN r.is_dead THEN 'missed' ELSE 'executed' END,
    CASE r.status WHEN 'skipped' THEN 'overlap' WHEN 'missed' THEN 'deadline' WHEN 'lost' THEN 'silent'
         WHEN 'unknown' THEN 'unknown' WHEN 'failed' THEN CASE WHEN r.is_dead THEN 'launch_failed' ELSE 'failed' END END,
    CASE WHEN r.status IN ('skipped', 'missed') THEN '' ELSE 'host/0000000000000001' END, false, true
FROM (
    SELECT w.number, w.name, w.edited, w.run_at, w.key, w.fire_at, o.lease_until, w.draw,
        CASE WHEN o.number IS NOT NULL THEN 'started' WHEN w.draw < 400 THEN 'failed' WHEN w.draw < 660 THEN 'skipped'
             WHEN w.draw < 860 THEN 'missed' WHEN w.draw < 890 THEN 'lost' WHEN w.draw < 920 THEN 'unknown'
             ELSE 'success' END AS status,
        o.number IS NULL AND w.draw < 130 AS is_dead, o.number IS NULL AND w.draw BETWEEN 60000 AND 60500 AS is_retried,
        coalesce(o.sent_at, w.fire_at + 45 + w.draw %% 200) AS sent_at
    FROM (
        SELECT p.*, get_byte(p.key, 0) * 256 + get_byte(p.key, 1) AS draw
        FROM (
            SELECT q.*, sha256(convert_to(q.name || ':' || q.run_at, 'UTF8')) AS key
            FROM (
                SELECT s.number, s.name, s.edited, s.last, s.break_from, s.break_to, p.run_at, p.run_at * 1000 AS fire_at
                FROM seed_periods p JOIN seed_schedules s USING (kind)
                WHERE p.run_at >= %(first)s AND p.run_at < %(last)s
                UNION ALL
                SELECT s.number, s.name, s.edited, s.last, s.break_from, s.break_to, d.run_at, d.fire_at
                FROM seed_dues d JOIN seed_schedules s USING (number)
                WHERE d.run_at >= %(first)s AND d.run_at < %(last)s) AS q
            WHERE q.run_at <= q.last
              AND (q.break_from IS NULL OR q.run_at <= q.break_from OR q.run_at > q.break_to)
            OFFSET 0) AS p
        OFFSET 0) AS w
    LEFT JOIN seed_running o ON o.number = w.number AND w.run_at = w.last
    OFFSET 0) AS r  -- an OFFSET keeps the planner from computing each expression several times
ORDER BY r.fire_at;  -- as workers write them

-- attempts: those that failed
INSERT INTO run_attempts (tenant_id, idempotency_key, slot, schedule_id, run_at, number, at, duration, result, code, excerpt)
SELECT 'default', idempotency_key, 0, schedule_id, run_at, 1, sent_at, updated_at - sent_at,
    CASE WHEN status = 'success' THEN 'retryable' WHEN outcome = 'missed' THEN 'rejected' ELSE status END,
    CASE WHEN status = 'success' THEN 503 WHEN outcome = 'missed' THEN 404 END,
    CASE WHEN status = 'success' THEN 'upstream connect error' WHEN outcome = 'missed' THEN 'no such hook'
         ELSE 'ValueError: lead 8812 has no country' END
FROM runs WHERE status IN ('failed', 'lost', 'unknown') OR attempt = 2;

-- states: progress, with how the last period ended
INSERT INTO schedule_state (tenant_id, schedule_id, wake, next_at, cursor, since, reach, open_runs_digest, digest,
    revision, shard, paused, deleted, paused_until, owed, kind, aside, run_count, failure_count, last_state)
SELECT 'default', s.name, s.wake, s.next, s.last, coalesce(s.edited * 1000, %(defined)s::bigint), s.last, coalesce(o.open_runs_digest, 0), j.digest,
    1 + (s.edited IS NOT NULL)::integer, s.shard, s.standing = 'paused', s.standing = 'deleted', NULL,
    CASE WHEN s.edited IS NOT NULL THEN '[]' END, 'https', NULL,
    0, 0, CASE WHEN r.status <> 'started' THEN r.status END
FROM seed_schedules s JOIN seed_jobs j USING (kind, label_set)
LEFT JOIN seed_running o ON o.number = s.number
LEFT JOIN runs r ON r.schedule_id = s.name AND r.run_at = s.last AND r.trigger_id = '' AND r.tenant_id = 'default'
ORDER BY s.name;

-- counters: of all ends, by the minute, and by the quarter of an hour where they are older than two days
INSERT INTO outcome_minutes (tenant_id, scope, minute, status, reason, slot, count)
SELECT 'default', c.scope, CASE WHEN e.minute < %(merged)s THEN e.minute / 15 * 15 ELSE e.minute END, e.status, e.reason,
    CASE WHEN e.minute < %(merged)s THEN 0 ELSE e.slot END, sum(e.count)
FROM (
    SELECT kron_scope(schedule_id) AS scope, (fire_at / 60000)::integer AS minute, status, coalesce(reason, '') AS reason,
           get_byte(idempotency_key, 2) %% 2 AS slot, count(*) AS count
    FROM runs WHERE NOT open GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT kron_scope(schedule_id), (last / 60)::integer, outcome, reason, 0, sum(count) FROM schedule_gaps
    GROUP BY 1, 2, 3, 4) AS e
CROSS JOIN LATERAL (SELECT '' AS scope UNION SELECT e.scope) AS c
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 3;  -- workers write them in the order of time

-- workers: two of them, which hold their leases throughout
INSERT INTO workers (tenant_id, owner, joined, said, until, kinds, tz)
SELECT 'default', 'host/' || lpad(n::text, 16, '0'), %(now)s, %(now)s, %(now)s::bigint + 86400000, ARRAY['https'], '2026f'
FROM generate_series(1, 2) AS n;

-- clean_up: what only the seed needed
DROP TABLE seed_jobs, seed_periods, seed_dues, seed_running, seed_schedules;

-- counts: rows of each table
SELECT 'schedules', count(*) FROM schedule_state UNION ALL
SELECT 'labels', count(*) FROM schedule_labels UNION ALL
SELECT 'revisions', count(*) FROM schedule_revisions UNION ALL
SELECT 'actions', count(*) FROM schedule_actions UNION ALL
SELECT 'runs', count(*) FROM runs UNION ALL
SELECT 'runs that did not succeed', count(*) FROM runs WHERE status <> 'success' UNION ALL
SELECT 'active runs', count(*) FROM runs WHERE open UNION ALL
SELECT 'attempts', count(*) FROM run_attempts UNION ALL
SELECT 'gap records', count(*) FROM schedule_gaps UNION ALL
SELECT 'counters of outcomes', count(*) FROM outcome_minutes UNION ALL
SELECT 'hours of load', count(*) FROM load_hours UNION ALL
SELECT 'paused', count(*) FROM schedule_state WHERE paused UNION ALL
SELECT 'deleted', count(*) FROM schedule_state WHERE deleted;
