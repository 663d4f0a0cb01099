#!/bin/sh
# Create the roles of the service. Run this before `kron migrate`, which grants them their privileges.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
    --set api="$API_PASSWORD" --set worker="$WORKER_PASSWORD" --set auditor="$AUDITOR_PASSWORD" <<'SQL'
CREATE ROLE kron_api LOGIN PASSWORD :'api';
CREATE ROLE kron_worker LOGIN PASSWORD :'worker';
CREATE ROLE kron_auditor LOGIN PASSWORD :'auditor';
SQL
