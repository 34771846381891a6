"""PostgreSQL 14 to 18: logical replication with pgoutput, chunks by COPY."""
