"""PostgreSQL 14 to 18: rows come by COPY into a temporary table, and are merged with their offsets.

Readers find a view under the table's own name, with the rows that live and are complete; behind it
is a table of ours, with tombstones and our columns, in a schema of its own.
"""

from wrackline.consumers.targets.postgres.target import PLUGIN

__all__ = ["PLUGIN"]
