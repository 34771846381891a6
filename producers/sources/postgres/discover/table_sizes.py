"""How large tables are, by the estimates in the catalogue.

In: a connection.  Out: rows and bytes of each table; of a partitioned table, of its partitions.  Nothing but
pg_class is read: `pg_total_relation_size` would wait for a table that somebody alters.
"""

from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.schemas.tables.table import TableId

_SIZES = """
SELECT n.nspname::text, c.relname::text,
       CASE WHEN min(l.reltuples) >= 0 THEN sum(l.reltuples)::bigint END,
       CASE WHEN min(l.reltuples) >= 0
            THEN sum(l.relpages::bigint + coalesce(o.relpages, 0)) * current_setting('block_size')::bigint END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
  SELECT c.oid AS oid WHERE c.relkind = 'r'
  UNION ALL SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE c.relkind = 'p' AND t.isleaf
) part
JOIN pg_class l ON l.oid = part.oid LEFT JOIN pg_class o ON o.oid = l.reltoastrelid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
GROUP BY 1, 2"""


def table_sizes(connection: Connection, database: str) -> dict[TableId, TableSize]:
    """Return the estimates; a table that was never analysed has none."""
    return {
        TableId(database, str(schema), str(name)): TableSize(_number(rows), _number(size))
        for schema, name, rows, size in connection.execute(_SIZES)
    }


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
