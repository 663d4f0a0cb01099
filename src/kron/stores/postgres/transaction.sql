-- The statements around the transaction of a run: what stands between them is the function's own.

-- enter: for whom, and how long it may be silent: as long as a run that is not heard of
SET LOCAL app.tenant = {tenant};
SET LOCAL application_name = 'kron run';
SET LOCAL idle_in_transaction_session_timeout = '60s';

-- still_inside: whether it is still the transaction that was entered; and where the function looks for its own tables
SELECT current_setting('application_name') = 'kron run', current_setting('search_path');

-- ours: names are those of Kron from here on
SET LOCAL search_path = {schema}, pg_temp;

-- theirs: and the function's again, for its triggers that wait for the commit
SELECT set_config('search_path', %(path)s, true);
