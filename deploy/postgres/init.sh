#!/bin/sh
# What PostgreSQL's image runs once, on an empty volume: a table to begin with, and the least rights of a reader.
# The grants are those of docs/postgresql.md. The password goes by the environment, so that no log shows it.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv password WRACKLINE_DB_PASSWORD
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    total numeric(12, 2) NOT NULL,
    placed timestamptz NOT NULL DEFAULT now()
);
INSERT INTO orders (customer, total) VALUES ('first', 10.00), ('second', 20.50);
SET password_encryption = 'scram-sha-256';
SET log_statement = 'none';
CREATE ROLE wrackline_reader LOGIN REPLICATION PASSWORD :'password';
SELECT format('GRANT CONNECT ON DATABASE %I TO wrackline_reader', current_database()) \gexec
GRANT USAGE ON SCHEMA public TO wrackline_reader;
GRANT SELECT ON orders TO wrackline_reader;
CREATE PUBLICATION wrackline FOR TABLE orders WITH (publish_via_partition_root = true);
SQL
