#!/bin/sh
# The roles of the service, made before `kron migrate`, which gives them their rights.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
    --set api="$API_PASSWORD" --set worker="$WORKER_PASSWORD" <<'SQL'
CREATE ROLE kron_api LOGIN PASSWORD :'api';
CREATE ROLE kron_worker LOGIN PASSWORD :'worker';
SQL
