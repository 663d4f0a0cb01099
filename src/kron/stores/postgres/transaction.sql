-- The statements around the transaction of a run: what stands between them is the function's own.

-- enter: for whom, and how long it may be silent: as long as a run that is not heard of
SET LOCAL app.tenant = {tenant};
SET LOCAL application_name = 'kron run';
SET LOCAL idle_in_transaction_session_timeout = '60s';

-- still_inside: whether it is still the transaction that was entered
SELECT current_setting('application_name') = 'kron run';

-- hasten: it is about to hold a row that others wait for, and what is left is found by keys
SET LOCAL statement_timeout = '4s';
SET LOCAL lock_timeout = '2s';
SET LOCAL idle_in_transaction_session_timeout = '5s';
SET LOCAL jit = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
