-- A tenant of the service is the beginning of a name: `acme/`. Beside what 0002 says of the owner of all rows, each
-- transaction of the service says whose names it is about, and sees and writes no others, whatever the code does:
--
--     app.within = 'acme/'   the schedules whose names begin so, and what belongs to them
--     app.within = '*'       all of them: a worker
--     not said               all of them; but to the role of the API, nothing
--
-- The function is asked once for each statement, not for each row.

CREATE FUNCTION kron_within() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT CASE coalesce(current_setting('app.within', true), '')
       WHEN '*' THEN NULL
       WHEN '' THEN CASE WHEN current_user = 'kron_api' THEN '/' END  -- no name begins with this
       ELSE current_setting('app.within') END
$$;

CREATE POLICY within ON definitions AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON due AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON schedule_revisions AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON schedule_acts AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON runs AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON requests AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

CREATE POLICY within ON schedule_gaps AS RESTRICTIVE
USING ((SELECT kron_within()) IS NULL OR starts_with(schedule_id, (SELECT kron_within())));

-- Who works where is no tenant's business.
CREATE POLICY within ON workers AS RESTRICTIVE USING ((SELECT kron_within()) IS NULL);
CREATE POLICY within ON shards AS RESTRICTIVE USING ((SELECT kron_within()) IS NULL);
