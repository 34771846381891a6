"""PostgreSQL 14 to 18: logical replication with pgoutput, chunks by COPY."""

from wrackline.producers.sources.postgres.source import PLUGIN

__all__ = ["PLUGIN"]
