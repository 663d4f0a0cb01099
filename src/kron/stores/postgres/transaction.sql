-- The statements around the transaction of a run: what stands between them is the function's own.

-- enter: for whom, and how long it may be silent: as long as a run that is not heard of
SET LOCAL app.tenant = {tenant};
SET LOCAL application_name = 'kron run';
SET LOCAL idle_in_transaction_session_timeout = '60s';

-- still_inside: whether it is still the transaction that was entered
SELECT current_setting('application_name') = 'kron run';
