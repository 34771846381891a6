"""Which rows hold values that do not fit their columns' types, as far as a short look shows.

    columns that would stop their table  -->  one read-only statement a table, bounded  -->  findings

The look is bounded in rows and in time; it skips a table that it can't finish, because the first read of
that table finds the same.  It counts values, and shows none.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import psycopg
from psycopg import sql

from wrackline.producers.kit.preflight.column_findings import UnfitCounts, value_findings
from wrackline.producers.rows.unfit_values import columns_that_stop
from wrackline.producers.sources.postgres.chunks.chunks import own_rows
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

MOST_ROWS: Final = 100_000
_PATIENCE = "SET LOCAL statement_timeout = '2s'; SET LOCAL lock_timeout = '500ms'; SET TRANSACTION READ ONLY"
_COUNTS = "SELECT count(*), count(*) FILTER (WHERE {}), {} FROM (SELECT {} FROM {} LIMIT {}) AS first"
_CONDITIONS = {
    Kind.DECIMAL: "{0}::text IN ('NaN', 'Infinity', '-Infinity')",
    Kind.ARRAY: "array_ndims({0}) > 1 OR array_lower({0}, 1) <> 1",
}

VALUES_UNFIT = rule(
    "pg.values_unfit",
    Severity.WARNING,
    "Rows hold values that do not fit",
    "{count} of the first {looked} rows of {path} hold values that do not fit, in {columns}",
    "the table is set aside at the first such row",
    "set column.as.text = '{listed}' to carry the columns as text, or column.unfit.letter = '{could}' to set"
    " only such rows aside",
)


def findings(connection: Connection, catalogue: PgCatalogue, tables: Sequence[TableId]) -> Iterator[Finding]:
    """Look at the tables with columns that can hold such values; the catalogue shows what is published."""
    return value_findings(
        VALUES_UNFIT, tables, partial(_count, connection, catalogue), unfinished=psycopg.Error
    )


def _count(connection: Connection, catalogue: PgCatalogue, table: TableId) -> UnfitCounts | None:
    kinds = {column.name: column.type.kind for column in columns_that_stop(catalogue.describe(table))}
    columns = {name: _CONDITIONS[kind] for name, kind in kinds.items() if kind in _CONDITIONS}
    if not columns:
        return None
    conditions = [sql.SQL(made).format(sql.Identifier(name)) for name, made in columns.items()]
    counted = [sql.SQL("count(*) FILTER (WHERE {})").format(one) for one in conditions]
    with connection.transaction():
        connection.execute(_PATIENCE)
        query = sql.SQL(_COUNTS)
        (counts,) = connection.execute(
            query.format(
                sql.SQL(" OR ").join(conditions),
                sql.SQL(", ").join(counted),
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                own_rows(connection, table),
                sql.Literal(MOST_ROWS),
            )
        ).fetchall()
    return UnfitCounts(columns, counts, columns)
