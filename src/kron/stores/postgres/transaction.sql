-- Statements around the transaction of a run. Between `enter` and `still_inside` runs the function's own SQL.

-- enter: set the tenant, and the maximum idle time: as long as a run may go without a report
SET LOCAL app.tenant = {tenant};
SET LOCAL application_name = 'kron run';
SET LOCAL idle_in_transaction_session_timeout = '60s';

-- still_inside: whether this is still the transaction of `enter`, and the function's search_path
SELECT current_setting('application_name') = 'kron run', current_setting('search_path');

-- use_kron_path: use Kron's search_path from here on
SET LOCAL search_path = {schema}, pg_temp;

-- restore_path: restore the function's search_path, for its deferred triggers that run at the commit
SELECT set_config('search_path', %(path)s, true);
