-- Every schedule once more under a name of its own; %(copy)s names the copy.
INSERT INTO definitions (tenant_id, schedule_id, digest, schedule, dialect, timezone, policy, name, description,
                         command, target, start_at, end_at, updated_at)
SELECT tenant_id, schedule_id || %(copy)s, digest, schedule, dialect, timezone, policy, name, description,
       command, target, start_at, end_at, updated_at
FROM definitions WHERE schedule_id NOT LIKE '%%#%%';

INSERT INTO schedule_state (tenant_id, schedule_id, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest,
                 reach, shard)
SELECT tenant_id, schedule_id || %(copy)s, digest, revision, cursor, since, paused, deleted, wake, paused_until, open_runs_digest,
       reach, shard
FROM schedule_state WHERE schedule_id NOT LIKE '%%#%%';

INSERT INTO schedule_revisions (tenant_id, schedule_id, number, schedule, dialect, timezone, at, actor, note, cursor)
SELECT tenant_id, schedule_id || %(copy)s, number, schedule, dialect, timezone, at, actor, note, cursor
FROM schedule_revisions WHERE schedule_id NOT LIKE '%%#%%';
